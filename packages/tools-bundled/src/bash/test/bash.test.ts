import {
  existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { BulkheadError, type CompartmentSession, type Sandbox } from '@bulkhead/contract'
import { manifestSchema } from '@bulkhead/contract/validation'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { createSandbox } from '@bulkhead/sandbox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { has, needs, WALLS } from '../../../../../scripts/machine.ts'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { lookWall } from '../../../../broker/src/index.ts'
import { bundledExtensions } from '../../index.ts'
import { toolRequest } from '../../../test/tool-request.ts'

const isWalled = has('bubblewrap') || (await lookWall()).stands

let root: string
let workspace: string
let sandbox: Sandbox
let session: CompartmentSession
let server: Server
const lines: { readonly label: string; readonly socket: Socket }[] = []
const waiting = new Map<string, (socket: Socket) => void>()

const bundled = bundledExtensions.find(({ manifest: { id } }) => id === 'bash')!
const manifest = manifestSchema.parse(bundled.manifest)

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-bash-')))
  workspace = join(root, 'workspace')
  mkdirSync(workspace)
  writeFileSync(join(root, 'secret'), 'precious')
  const env = { LANG: 'C.UTF-8', TERM: 'dumb', HOME: '/dev/null', GIT_EDITOR: 'false' }
  sandbox = createSandbox({
    workspace, operator: { path: ['/usr/local/bin', '/usr/bin', '/bin', dirname(process.execPath)], env },
  })
  session = await sandbox.open(toolRequest('bash', { workspace: [workspace] }))
  // Each process keeps a connection open, so its start and end are events.
  server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.setEncoding('utf8').once('data', (label: string) => {
      lines.push({ label, socket })
      waiting.get(label)?.(socket)
    })
  })
  await new Promise<void>((resolve) => server.listen(join(workspace, 'line'), resolve))
})
afterAll(async () => {
  await sandbox.close()
  for (const { socket } of lines) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
  rmSync(root, { recursive: true })
})

let calls = 0
const bash = (
  command: string, more: JsonObject = {}, signal = new AbortController().signal,
  onUpdate: (partial: Json) => void = () => {},
) => session.call({ callId: `c${++calls}`, tool: 'bash', args: { command, ...more }, signal, onUpdate })
const put = (name: string, content: string) => writeFileSync(join(workspace, name), content)
const get = (name: string) => readFileSync(join(workspace, name), 'utf8')
/** A process that connects with a name and runs until it is killed. */
const holder = (label: string): string =>
  `const s=require("node:net").connect(${JSON.stringify(join(workspace, 'line'))},()=>s.write("${label}"));`
    + 's.on("close",()=>process.exit())'
/** Starts its argument as a detached process. */
const spawnDetached = (stdio: 'ignore' | 'inherit'): string =>
  `require("node:child_process").spawn(process.execPath,["-e",process.argv[1]],{detached:true,stdio:"${stdio}"})`
const connected = (label: string) => new Promise<Socket>((resolve) => {
  const known = lines.find((line) => line.label === label)
  if (known) resolve(known.socket)
  else waiting.set(label, resolve)
})
const node = JSON.stringify(process.execPath)

describe('plain commands run without a shell', () => {
  const plain = [
    ['a program with arguments', "printf '%s|' a 'b c' \"d  e\" f\\ g", { stdout: 'a|b c|d  e|f g|', exit_code: 0 }],
    ['an exit code', 'ls nowhere', { exit_code: 2, stderr: expect.stringContaining('nowhere') }],
    [
      'a signal', `${node} -e 'process.kill(process.pid, "SIGKILL")'`,
      has('bubblewrap') ? { exit_code: 137 } : { exit_code: null, signal: 'SIGKILL' },
    ],
    ['a pipeline', "printf 'b\\na\\nb\\n' | sort | uniq -c | tr -s ' '", { stdout: ' 1 a\n 2 b\n', exit_code: 0 }],
    ['the exit code of the last command in a pipeline', 'false | true', { exit_code: 0 }],
    ['negation', '! false', { exit_code: 0 }],
    ['&& after success', 'true && echo yes', { stdout: 'yes\n' }],
    ['&& after failure', 'false && echo yes', { stdout: '', exit_code: 1 }],
    ['||', 'false || echo no', { stdout: 'no\n', exit_code: 0 }],
    ['a sequence', 'false; echo on; echo off', { stdout: 'on\noff\n', exit_code: 0 }],
    ['several lines', 'echo a\necho b # and no more\n', { stdout: 'a\nb\n' }],
    ['mixed operators', 'false && echo a || echo b && echo c', { stdout: 'b\nc\n' }],
    ['a variable for one command', 'GREETING="hello you" printenv GREETING', { stdout: 'hello you\n' }],
    ['both streams combined', 'ls nowhere 2>&1', { stderr: '', stdout: expect.stringContaining('nowhere') }],
    ['a discarded stream', 'ls nowhere 2>/dev/null', { stderr: '', stdout: '', exit_code: 2 }],
    ['a here-document', 'cat <<EOF\none\ntwo\nEOF', { stdout: 'one\ntwo\n' }],
    ['a here-string', 'tr a-z A-Z <<< "loud"', { stdout: 'LOUD\n' }],
    ['quoted shell syntax', "echo '$(id)' '; ls' '`id`' '>' x", { stdout: '$(id) ; ls `id` > x\n' }],
    ['a fallback for a missing program', 'no-such-program || echo fallback', { stdout: 'fallback\n', exit_code: 0 }],
    ['a missing program', 'no-such-program', { exit_code: 127, stderr: expect.stringContaining('no-such-program') }],
  ] as const
  const noShellRuns = async (_: string, command: string, result: object): Promise<void> => {
    expect(await bash(command)).toMatchObject(result)
  }
  it.each(plain.filter((_, at) => at % 4 === 0))('no shell runs for %s', noShellRuns)
  it.each(plain.filter((_, at) => at % 4 !== 0))('no shell runs for %s', LONG, noShellRuns)

  it('redirections read and write files of the workspace', async () => {
    await bash(
      'echo one > notes.txt; echo two >> notes.txt; ls nowhere 2> errors.txt; tr a-z A-Z < notes.txt > loud.txt',
    )
    expect([get('notes.txt'), get('loud.txt')]).toEqual(['one\ntwo\n', 'ONE\nTWO\n'])
    expect(get('errors.txt')).toContain('nowhere')
  })

  it('patterns expand to file names as in a shell', async () => {
    mkdirSync(join(workspace, 'globs/deep'), { recursive: true })
    for (const name of ['b.ts', 'a.ts', '.hidden.ts', 'c.js', 'deep/d.ts']) put(`globs/${name}`, '')
    expect(await bash('echo *.ts [ac].* */*.ts *.none "*.ts"', { cwd: 'globs' })).toMatchObject({
      stdout: 'a.ts b.ts a.ts c.js deep/d.ts *.none *.ts\n',
    })
  })

  it('a pattern that matches a file named like an option is refused', async () => {
    mkdirSync(join(workspace, 'options'))
    put('options/-rf', '')
    await expect(bash('chmod 600 *', { cwd: 'options' })).rejects.toMatchObject({
      code: 'InputInvalid', message: expect.stringContaining('./*') as string,
    })
    expect(await bash('chmod -v 600 ./*', { cwd: 'options' })).toMatchObject({
      stdout: expect.stringContaining('./-rf') as string,
    })
  })

  it('cd changes the folder of later commands, and they do not run if it fails', async () => {
    mkdirSync(join(workspace, 'place/inner'), { recursive: true })
    expect(await bash('cd place && cd inner && pwd; cd ..; pwd')).toMatchObject({
      stdout: `${workspace}/place/inner\n${workspace}/place\n`,
    })
    expect(await bash('cd place/nowhere; echo here > gone')).toMatchObject({ exit_code: 1, stdout: '' })
    expect(existsSync(join(workspace, 'gone'))).toBe(false)
    expect(await bash('pwd', { cwd: 'place' })).toMatchObject({ stdout: `${workspace}/place\n` })
  })

  it('a program of the workspace runs by its path', async () => {
    put('run.sh', '#!/bin/sh\necho "ran with $1"\n')
    expect(await bash('chmod +x run.sh && ./run.sh this')).toMatchObject({ stdout: 'ran with this\n' })
  })

  it('what a repository configures reaches nothing behind the look wall', needs('git', 'bubblewrap'), async () => {
    await bash('git init -q repo')
    put('repo/file', 'x')
    put('evil.sh', `#!/bin/sh\ntouch ${workspace}/pwned\n`)
    await bash(`chmod +x evil.sh && git -C repo config core.fsmonitor ${workspace}/evil.sh && git -C repo config `
      + `core.pager ${workspace}/evil.sh`)
    await bash('git -C repo config diff.external /bin/false')
    const own = createSandbox({
      workspace: join(workspace, 'repo'), operator: { path: ['/usr/bin', '/bin'], env: { HOME: '/dev/null' } },
    })
    const opened = await own.open(toolRequest('bash', { workspace: [join(workspace, 'repo')] }))
    expect(
      await opened.call({
        callId: 'g', tool: 'bash', args: { command: 'timeout 60 git status --short' },
        signal: new AbortController().signal,
      }),
    ).toMatchObject({ stdout: expect.stringContaining('?? file\n') as string })
    await own.close()
    expect(existsSync(join(workspace, 'pwned'))).toBe(false)
  })
})

describe('commands that need a shell run in one', () => {
  it.each([
    ['variables', 'x=5; echo $((x + 1))', '6\n'],
    ['substitutions', 'echo "$(echo inner)"', 'inner\n'],
    ['loops', 'for i in 1 2 3; do echo $i; done', '1\n2\n3\n'],
    ['braces', 'echo {a,b}', 'a b\n'],
  ])('a shell runs for %s', async (_, command, stdout) => {
    expect(await bash(command)).toMatchObject({ stdout, exit_code: 0 })
  })

  const leaving = [
    'for i in 1; do touch ../outside; done', "sh -c 'touch ../outside'", "bash -ec 'touch ../outside'",
    "timeout 9 sh -c 'touch ../outside'", "env sh -c 'touch ../outside'", "echo 'touch ../outside' | sh",
    "sh <<< 'touch ../outside'", 'bash -s <<EOF\ntouch ../outside\nEOF',
    "find . -maxdepth 0 -exec sh -c 'touch ../outside' \\;", "echo x | xargs sh -c 'touch ../outside'",
    "setsid -w sh -c 'touch ../outside'", "true && sh -c 'touch ../outside'", 'bash -c \'sh -c "touch ../outside"\'',
  ]
  const staysInside = async (command: string): Promise<void> => {
    await bash(command)
    const isWritten = existsSync(join(root, 'outside'))
    rmSync(join(root, 'outside'), { force: true })
    // Without a sandbox, a command can do whatever the user can.
    expect(isWritten).toBe(!isWalled)
  }
  it.each(leaving.filter((_, at) => at % 4 === 0))('the shell runs in a sandbox: %s', WALLS, staysInside)
  const others = leaving.filter((_, at) => at % 4 !== 0)
  it.each(others)('the shell runs in a sandbox: %s', { tags: ['walls', 'long'] }, staysInside)

  it('a shell can write the workspace', async () => {
    await bash('for i in 1 2; do echo $i >> loop.txt; done')
    expect(get('loop.txt')).toBe('1\n2\n')
  })
})

describe('refuses', () => {
  it.each([
    ['an editor', 'vim notes.txt', 'InputInvalid', /edit and write/],
    ['a bare interpreter', 'python3', 'InputInvalid', /-c or -e/],
    ['a bare shell', 'bash', 'InputInvalid', /would wait/],
    ['an editor started by git', 'git commit', 'InputInvalid', /-m/],
    ['an interactive rebase', 'git rebase -i main', 'InputInvalid', /without -i/],
    ['a wrapped editor', 'timeout 5 nano x', 'InputInvalid', /edit and write/],
    ['writing a file outside', 'echo x > ../outside', 'CapabilityDenied', /outside/],
    ['reading a file outside', 'cat < ../secret', 'CapabilityDenied', /outside/],
    ['a working directory outside', 'ls', 'CapabilityDenied', /outside/, { cwd: '..' }],
    ['a link out of the workspace', 'cat link', 'CapabilityDenied', /outside/],
    ['a file in a linked folder', 'head up/secret', 'CapabilityDenied', /outside/],
  ] as readonly [string, string, string, RegExp, JsonObject?][])(
    'does not run %s', async (_, command, code, message, more = {}) => {
    if (!existsSync(join(workspace, 'up'))) {
      symlinkSync(join(root, 'secret'), join(workspace, 'link'))
      symlinkSync(root, join(workspace, 'up'))
    }
    await expect(bash(command.replace(' LINK', join(workspace, 'link')), more)).rejects.toMatchObject({
      code, message: expect.stringMatching(message) as string,
    })
    expect(existsSync(join(root, 'outside'))).toBe(false)
  })
})

describe('time and output', () => {
  it('a command that times out is killed, and its output so far is returned', async () => {
    const result = await bash('echo begun && sleep 600 && echo never', { timeout_ms: 1_500 })
    expect(result).toMatchObject({ stdout: 'begun\n', timed_out: true, signal: 'SIGTERM', exit_code: null })
  })

  // The processes answer by a socket, which Landlock alone does not let them open.
  it('output is streamed while the command runs', needs('bubblewrap'), async () => {
    const seen = Promise.withResolvers<Json>()
    const running = bash(`echo first; ${node} -e '${holder('streams')}'`, {}, undefined, (partial) =>
      seen.resolve(partial),
    )
    expect(await seen.promise).toMatchObject({ type: 'shell.output', stream: 'stdout', text: 'first\n' })
    ;(await connected('streams')).destroy()
    expect(await running).toMatchObject({ stdout: 'first\n', exit_code: 0 })
  })

  it('long output is truncated', LONG, async () => {
    const { stdout, truncated } = (await bash('yes | head -c 3000000')) as { stdout: string; truncated: boolean }
    expect([stdout.length, truncated]).toEqual([1024 * 1024, true])
    const both = await bash('yes | head -c 900000; yes | head -c 900000') as { stdout: string; truncated: boolean }
    expect([both.stdout.length <= 1024 * 1024, both.truncated]).toEqual([true, true])
  })

  // The processes answer by a socket, which Landlock alone does not let them open.
  it('cancelling kills the command and all its child processes', needs('bubblewrap'), async () => {
    const cancel = new AbortController()
    const inner = `${spawnDetached('inherit')};${holder('parent')}`
    const running = bash(`${node} -e '${inner}' '${holder('grandchild')}' | cat`, {}, cancel.signal)
    const sockets = await Promise.all([connected('parent'), connected('grandchild')])
    const closed = sockets.map((socket) => new Promise((resolve) => {
      socket.once('close', resolve)
    }))
    cancel.abort(new BulkheadError('ToolCancelled', 'enough'))
    await expect(running).rejects.toThrow('enough')
    await Promise.all(closed)
  })

  // The processes answer by a socket, which Landlock alone does not let them open.
  it(
    'background processes are killed when the command ends, as the description states', needs('bubblewrap'),
    async () => {
      const inner = `${spawnDetached('ignore')}.unref();${holder('starter')}`
      const running = bash(`${node} -e '${inner}' '${holder('server')}'`)
      const [starter, left] = await Promise.all([connected('starter'), connected('server')])
      const ended = new Promise((resolve) => {
        left.once('close', resolve)
      })
      starter.destroy()
      expect(await running).toMatchObject({ exit_code: 0 })
      await ended
      expect(manifest.tools[0]!.description).toContain('What it starts is ended with it')
    },
  )

  it('a grandchild that keeps the pipe open does not delay the result', LONG, async () => {
    const inner = `${spawnDetached('inherit')}.unref();console.log("left")`
    const line = `${node} -e '${inner}' '${holder('left-behind')}'`
    expect(await bash(line)).toMatchObject({ stdout: 'left\n', exit_code: 0 })
  })
})
