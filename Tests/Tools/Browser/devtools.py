"""A Chromium without a window, controlled with the DevTools protocol over two pipes. Uses only Python's standard
library."""
import base64, json, os, re, select, subprocess, tempfile, time


class Browser:
    """A browser with one page. `messages` contains the events that it reported since `go()`."""

    def __init__(self, program='/usr/bin/chromium'):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.source, to_write = os.pipe()

        def connect_pipes():
            # Chromium reads commands from descriptor 3 and writes answers to descriptor 4.
            read, write = os.dup(to_read), os.dup(to_write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [program, '--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
             '--disable-component-update', '--hide-scrollbars', f'--user-data-dir={self.profile.name}',
             '--remote-debugging-pipe', 'about:blank'],
            preexec_fn=connect_pipes, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.data, self.messages, self.session = 0, b'', [], None
        target = next(each for each in self.call('Target.getTargets')['targetInfos'] if each['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=target['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(f'{domain}.enable')

    def receive(self, seconds):
        """Returns the next message, or None if none arrives in that time."""
        end = time.monotonic() + seconds
        while b'\0' not in self.data:
            if not select.select([self.source], [], [], max(0, end - time.monotonic()))[0]:
                return None
            part = os.read(self.source, 1 << 20)
            if not part:
                raise RuntimeError('the browser has ended')
            self.data += part
        message, _, self.data = self.data.partition(b'\0')
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        command = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            command['sessionId'] = self.session
        os.write(self.to, json.dumps(command).encode() + b'\0')
        while True:
            message = self.receive(30)
            if message is None:
                raise RuntimeError(f'{method} was not answered')
            if message.get('id') == self.number:
                if 'error' in message:
                    raise RuntimeError(f'{method}: {message["error"]}')
                return message['result']
            if 'method' in message:
                self.messages.append(message)

    def go(self, url):
        """Loads a page and waits until it is loaded."""
        self.messages = []
        self.call('Page.navigate', url=url)
        self.wait(lambda: any(message['method'] == 'Page.loadEventFired' for message in self.messages), 20, url)

    def wait(self, is_so, seconds, description):
        end = time.monotonic() + seconds
        while not is_so():
            message = self.receive(0.02)
            if message and 'method' in message:
                self.messages.append(message)
            if time.monotonic() > end:
                raise RuntimeError(f'waited {seconds} s for {description}')

    def evaluate(self, expression):
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(f'{expression}: {result["exceptionDetails"]}')
        return result['result'].get('value')

    def set_size(self, width, is_dark, height=900):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': 'dark' if is_dark else 'light'}])

    def scripts(self, run):
        self.call('Emulation.setScriptExecutionDisabled', value=not run)

    def pages(self):
        """Returns the number of A4 pages that the page needs on paper."""
        paper = self.call('Page.printToPDF', paperWidth=8.27, paperHeight=11.69)['data']
        return len(re.findall(rb'/Type */Page\b', base64.b64decode(paper)))

    def screenshot(self, path):
        """Writes the visible part of the page to a PNG file."""
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))

    def console_messages(self):
        """Returns the messages in the console."""
        messages = []
        for message in self.messages:
            parameters = message['params']
            if message['method'] == 'Log.entryAdded':
                messages.append(f'{parameters["entry"]["text"]} {parameters["entry"].get("url", "")}')
            elif message['method'] in ('Runtime.consoleAPICalled', 'Runtime.exceptionThrown'):
                messages.append(json.dumps(parameters)[:300])
        return messages

    def requested(self):
        """Returns the URLs of all requests, to any server."""
        return [message['params']['request']['url'] for message in self.messages
                if message['method'] == 'Network.requestWillBeSent']

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()
