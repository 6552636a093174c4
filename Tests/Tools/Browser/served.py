"""A folder of event files with a `beacon-gateway serve` that shows it, for tools that check its pages."""
import datetime, os, signal, subprocess, sys, tempfile, time, urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from held_port import held_port

UUID = 'F7826DA6-4FA2-4E98-8024-BC5B71E0893E'


class Served:
    """A served folder of a gateway that is alive. Its lines start an hour ago, or at `begin` (seconds since 1970)."""

    def __init__(self, program, badges, begin=None, names='', before=(), now=None, status_socket=None):
        self.folder = tempfile.TemporaryDirectory()
        self.path = f'{self.folder.name}/events-000000000001-20261121T000000Z.jsonl'
        self.now = now
        self.sequence, self.begin = 0, time.time() - 3600 if begin is None else begin
        self.write('gateway', 0, '"state":"started","program":"1.0.0"')
        self.write('adapter', 0, f'"adapter":"hci0","state":"listening","since":"{self.date(0)}"')
        for minor in range(badges):
            self.event('satisfied', 1 + minor, minor)
        self.live()
        self.port = held_port()
        with open(f'{self.folder.name}/gateway.yaml', 'w') as file:
            answers = f', status_socket: {status_socket}' if status_socket else ''
            file.write(f'conditions: [{{identifier: staff, uuid: {UUID}}}]\noutput: {{directory: {self.folder.name}{answers}}}\n'
                       f'serve: {{port: {self.port}}}\n{names}')
        self.process = subprocess.Popen([*before, program, f'{self.folder.name}/gateway.yaml'],
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        for _ in range(300):
            try:
                with urllib.request.urlopen(self.url('/')) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                time.sleep(0.1)
        sys.exit('the server never answered')

    def url(self, path):
        return f'http://127.0.0.1:{self.port}{path}'

    def date(self, seconds):
        date = datetime.datetime.fromtimestamp(self.begin + seconds, datetime.timezone.utc)
        return date.strftime('%Y-%m-%dT%H:%M:%S.%fZ')

    def head(self, kind, seconds, sequence):
        return (f'{{"version":2,"type":"{kind}","gateway":"lobby","boot":"aaaaaaaa-00000001","sequence":{sequence},'
                f'"date":"{self.date(seconds)}","monotonic":{int(seconds * 1_000_000)}')

    def write(self, kind, seconds, body):
        self.sequence += 1
        with open(self.path, 'a') as file:
            file.write(f'{self.head(kind, seconds, self.sequence)},{body}}}\n')

    def event(self, state, seconds, minor):
        self.write('event', seconds, (
            f'"monitor":"site","identifier":"staff","scope":"beacon","state":"{state}","condition":{{"uuid":"{UUID}"}},'
            f'"refinement":{{"uuid":"{UUID}","major":1,"minor":{minor}}},"lastSeen":"{self.date(seconds)}",'
            '"sighting":{"rssi":-60,"measuredPower":-59,"adapter":"hci0"},"diagnostics":[]'))

    def visit(self, arrival, departure, minor):
        """Writes an exit and the visit that it ends."""
        self.event('unsatisfied', departure, minor)
        self.write('visit', departure, (
            f'"monitor":"site","identifier":"staff","scope":"beacon","condition":{{"uuid":"{UUID}"}},'
            f'"refinement":{{"uuid":"{UUID}","major":1,"minor":{minor}}},"arrival":"{self.date(arrival)}",'
            f'"departure":"{self.date(departure)}","duration":{departure - arrival:.1f},"sightings":70,'
            '"rssi":{"minimum":-80,"mean":-66.7,"maximum":-60},"reason":"exitTimeout"'))

    def live(self):
        # If another program reads the file at this moment, it gets the previous content.
        with open(f'{self.folder.name}/alive.new', 'w') as file:
            file.write(self.head('alive', (self.now or time.time()) - self.begin, self.sequence) + '}\n')
        os.replace(f'{self.folder.name}/alive.new', f'{self.folder.name}/alive')

    def wait_for(self, words):
        """Waits until the page `/`, which shows the present badges, contains the words."""
        for _ in range(300):
            with urllib.request.urlopen(self.url('/')) as answer:
                if words in answer.read().decode():
                    return
            time.sleep(0.1)
        sys.exit(f'{words} never appeared on the page')

    def end(self):
        # A program that starts the server (`before`) might not forward the signal, so the whole process group gets it.
        os.killpg(self.process.pid, signal.SIGTERM)
        ended = self.process.wait(10)
        self.folder.cleanup()
        return [] if ended == 0 else [f'the server ended with {ended}']
