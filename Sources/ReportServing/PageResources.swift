/// What pages load, from here alone.
enum PageResources {
    static let style = """
        :root { color-scheme: light dark; --ink: #1b1f24; --ground: #fff; --soft: #57606a; --line: #d0d7de; --here: #116329; --alarm: #82071e; --alarmGround: #ffebe9; --link: #0550ae; }
        @media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --ground: #0d1117; --soft: #9da7b3; --line: #30363d; --here: #56d364; --alarm: #ffb3ad; --alarmGround: #3c1010; --link: #79b8ff; } }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.45 system-ui, sans-serif; }
        header, main { max-width: 60rem; margin: 0 auto; padding: .75rem 1rem; }
        a { color: var(--link); } nav a { margin-right: 1rem; display: inline-block; padding: .25rem 0; }
        h1 { font-size: 1.5rem; margin: .25rem 0 .5rem; } h2 { font-size: 1.1rem; margin: 1.25rem 0 .25rem; overflow-wrap: anywhere; }
        table { width: 100%; border-collapse: collapse; } th, td { text-align: left; padding: .35rem .5rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
        thead th { color: var(--soft); font-weight: 600; font-size: .85rem; } tbody th { font-weight: 600; overflow-wrap: anywhere; min-width: 6rem; } small { color: var(--soft); font-weight: 400; }
        tr.here td:last-child { color: var(--here); font-weight: 600; } tr.unknown td:last-child { font-style: italic; }
        .summary { font-size: 1.15rem; } .age { color: var(--soft); font-size: .9rem; margin-top: 1.5rem; }
        .alarm { background: var(--alarmGround); color: var(--alarm); border: 2px solid currentColor; border-radius: .4rem; padding: .25rem .9rem; font-size: 1.2rem; font-weight: 600; }
        dt { color: var(--soft); } dd { margin: 0 0 .4rem; }
        form { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: end; } label { display: block; color: var(--soft); font-size: .85rem; }
        input, select, button { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--soft); border-radius: .25rem; padding: .3rem .5rem; }
        pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .9rem; }
        svg.day { display: block; width: 100%; min-width: 4rem; height: .7rem; background: var(--line); } svg.day rect { fill: var(--here); } svg.day rect.unsure { fill: var(--soft); }
        @media (max-width: 40rem) { .rare { display: none; } }
        @media print { nav, #live { display: none; } body { font-size: .8rem; } tr { break-inside: avoid; } }

        """

    /// What a browser shows beside the title.
    static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="#1a7f5a"/>\
        <circle cx="8" cy="8" r="3" fill="#fff"/></svg>

        """

    /// Loads the page's inside anew when lines come, and says so where they can't.
    static let script = """
        "use strict";
        (() => {
          const say = (text) => { const place = document.getElementById("live"); if (place) place.textContent = text; };
          const local = () => { for (const time of document.querySelectorAll("time")) {
            const date = new Date(time.dateTime);
            if (!isNaN(date)) { time.title = time.textContent; time.textContent = date.toLocaleString(); } } };
          let isLive = false, isLoading = false, isDue = false, retry;
          const load = async () => {
            if (isLoading) { isDue = true; return; }
            isLoading = true;
            isDue = false;
            clearTimeout(retry);
            try {
              const answer = await fetch(location.pathname, { cache: "no-cache" });
              if (!answer.ok) throw new Error(answer.status);
              const page = new DOMParser().parseFromString(await answer.text(), "text/html");
              const main = page.querySelector("main");
              if (main) document.querySelector("main").replaceWith(main);
              local();
              say(isLive ? "It changes by itself." : "The connection is lost: this is how it was.");
            } catch (problem) {
              say(/^\\d+$/.test(problem.message) ? "The server has an error (" + problem.message + "): this is how it was."
                : "The server does not answer: this is how it was.");
              // A login is not tried again: the browser would ask for it each time.
              if (problem.message !== "401") retry = setTimeout(load, 5000 + 5000 * Math.random());
            }
            isLoading = false;
            if (isDue) load();
          };
          const changes = new EventSource("/api/v1/changes");
          changes.onopen = () => { isLive = true; load(); };
          changes.onmessage = load;
          changes.onerror = () => { isLive = false; say("The connection is lost: this is how it was."); };
          setInterval(load, 60000);
          local();
        })();

        """
}
