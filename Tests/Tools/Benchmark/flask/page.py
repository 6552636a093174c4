"""A page of Flask with the present badges and today's visits, as a programmer could write it in an afternoon.

    page.py FOLDER PORT

It reads the event files: it aggregates `event` and `visit` lines, and skips all others before they are parsed. It
checks the last file every 50 ms for new lines, and sends each event to all open pages (server-sent events). It does
not handle clock corrections, outages, restarts, missing lines or erasures. `/` is answered with 503 until all lines
are read.
"""
import datetime
import json
import os
import queue
import sys
import threading
import time

from flask import Flask, Response, render_template_string

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Present badges</title></head><body>
<h1>{{ here|length }} present</h1><table><tr><th>Badge</th><th>Since</th></tr>
{% for (condition, beacon), since in here %}<tr><td>{{ condition }} {{ beacon }}</td><td>{{ since }}</td></tr>
{% endfor %}</table><h2>Today</h2><table><tr><th>Badge</th><th>From</th><th>To</th></tr>
{% for visit in today %}<tr><td>{{ visit[0] }} {{ visit[1] }}</td><td>{{ visit[2] }}</td><td>{{ visit[3] }}</td></tr>
{% endfor %}</table></body></html>"""

folder, port = sys.argv[1], int(sys.argv[2])
app = Flask(__name__)
lock, here, visits, listeners = threading.Lock(), {}, [], []
is_current = threading.Event()


def note(line):
    """Adds a line to the state. Returns the body if the line is an event of a beacon, else None."""
    if '"type":"event"' not in line and '"type":"visit"' not in line:
        return None
    try:
        body = json.loads(line)
    except ValueError:
        return None
    body = body.get("payload", body)
    if body.get("scope") != "beacon":
        return None
    beacon = body["refinement"]
    subject = body["identifier"], "%s/%s/%s" % (beacon["uuid"], beacon["major"], beacon["minor"])
    with lock:
        if body["type"] == "event":
            if body["state"] == "satisfied":
                here.setdefault(subject, body["date"])
            else:
                here.pop(subject, None)
            return body
        visits.append((*subject, body.get("arrival"), body.get("departure")))
        # The page shows only one day.
        if len(visits) > 20_000:
            del visits[:5_000]
    return None


def follow():
    known, file, part = "", None, ""
    while True:
        names = sorted(name for name in os.listdir(folder) if name.startswith("events-"))
        for name in names[names.index(known) + 1:] if known else names:
            if file:
                take(file, part)
                file.close()
            known, file, part = name, open(os.path.join(folder, name)), ""
            part = take(file, part)
        if file:
            part = take(file, part)
        is_current.set()
        time.sleep(0.05)


def take(file, part):
    """Adds all lines that can be read, after the incomplete line `part`. Returns the incomplete line at the end."""
    for line in file:
        line = part + line
        if not line.endswith("\n"):
            return line
        part = ""
        event = note(line)
        if event and is_current.is_set():
            for listener in list(listeners):
                listener.put(event)
    return part


@app.route("/")
def page():
    if not is_current.is_set():
        return "reading", 503
    day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    with lock:
        shown = sorted(here.items())
        today = [visit for visit in visits if visit[3] and visit[3] >= day]
    return render_template_string(PAGE, here=shown, today=today)


@app.route("/events")
def events():
    listener = queue.Queue()
    listeners.append(listener)

    def stream():
        try:
            yield ": hello\n\n"
            while True:
                yield "data: %s\n\n" % json.dumps(listener.get())
        finally:
            listeners.remove(listener)

    return Response(stream(), mimetype="text/event-stream")


threading.Thread(target=follow, daemon=True).start()
# Flask's own server, with a thread for each connection; connections stay open after a request.
from werkzeug.serving import WSGIRequestHandler  # noqa: E402

WSGIRequestHandler.protocol_version = "HTTP/1.1"
WSGIRequestHandler.log = lambda *_: None
app.run("127.0.0.1", port, threaded=True)
