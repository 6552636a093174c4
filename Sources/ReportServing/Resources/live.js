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
      say(isLive ? "This page updates automatically." : "The connection is lost. This page shows the last known state.");
    } catch (problem) {
      say(/^\d+$/.test(problem.message) ? "The server has an error (" + problem.message + "). This page shows the last known state."
        : "The server does not respond. This page shows the last known state.");
      // A login is not tried again: the browser would ask for it each time.
      if (problem.message !== "401") retry = setTimeout(load, 5000 + 5000 * Math.random());
    }
    isLoading = false;
    if (isDue) load();
  };
  const changes = new EventSource("/api/v1/changes");
  changes.onopen = () => { isLive = true; load(); };
  changes.onmessage = load;
  changes.onerror = () => { isLive = false; say("The connection is lost. This page shows the last known state."); };
  setInterval(load, 60000);
  local();
})();
