import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { processTable } from '../../src/process/run-processes.ts'
import { launcherFilter } from '../../src/walls/filter-rules.ts'
import { ruleSet } from '../../src/walls/landlock.ts'
import {
  launch, LAUNCH_FAILED, LaunchError, SpareLauncher, type Launch, type Launched,
} from '../../src/walls/launcher.ts'
import { lookWall, nodeFiles } from '../../src/walls/trial.ts'

const look = await lookWall()
const SYSTEM = ['/usr', '/bin', '/lib', '/lib64', '/etc/ld.so.cache', '/proc']
const folder = await realpath(await mkdtemp(join(tmpdir(), 'bulkhead-launcher-')))
afterAll(() => rm(folder, { recursive: true }))
const [inside, outside] = [join(folder, 'inside'), join(folder, 'outside')]
await Promise.all([mkdir(inside), mkdir(outside)])
await writeFile(join(outside, 'secret'), 'secret')

const filter = launcherFilter({ sockets: 'none', processes: true, metadata: false, confinesSignals: true })

const shell = (script: string, more: Partial<Launch> = {}): Launch => ({
  argv: ['/bin/sh', '-c', script], env: { PATH: '/usr/bin:/bin', NAME: 'value' }, cwd: inside,
  wall: { rules: ruleSet({ run: SYSTEM, write: [inside, '/dev/null'] }, {}, 1), filter }, ...more,
})

const PIPES = ['ignore', 'pipe', 'pipe'] as const

async function outcome({ child, started }: Launched) {
  const [stdout, stderr, end, failure] = await Promise.all([
    text(child.stdout!), text(child.stderr!),
    new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code))),
    started.then(() => undefined, (error: unknown) => error),
  ])
  return { stdout, stderr, end, failure }
}

/** The two ways to start a program, which must not differ. */
const spares = new SpareLauncher()
afterAll(() => spares.close())
const WAYS = {
  'a new launcher': launch,
  'a spare': async (given: Launch, stdio: Parameters<typeof launch>[1]) => {
    await outcome(spares.launch(shell('true'), PIPES))
    await expect.poll(() => spares.waits).toBe(true)
    return spares.launch(given, stdio)
  },
}

it('hands no path with a NUL character to a launcher', () => {
  const wall = { rules: ruleSet({ read: ['/usr\0/private'] }) }
  expect(() => launch(shell('true', { wall }), PIPES)).toThrow('A NUL character cannot be passed to a program.')
})

describe.each(Object.entries(WAYS))('%s', needs('Linux'), (way, start) => {
  const also = way === 'a spare' ? LONG : {}
  const run = async (script: string, more: Partial<Launch> = {}) => outcome(await start(shell(script, more), PIPES))

  it('runs the program with its arguments, variables and folder, and nothing of the host', async () => {
    const { stdout, end, failure } = await run('pwd; env | sort; ls /proc/self/fd | tr "\\n" " "; exit 7')
    expect(failure).toBeUndefined()
    expect(stdout).toBe(`${inside}\nNAME=value\nPATH=/usr/bin:/bin\nPWD=${inside}\n0 1 2 3 `)
    expect(end).toBe(7)
  })

  it('keeps what is not granted from being opened', also, async () => {
    const { stdout, stderr } = await run(`cat ../outside/secret; echo new > ../outside/new; echo mine > here; cat here`)
    expect(stdout).toBe('mine\n')
    expect(stderr).toContain('outside/secret: Permission denied')
    await expect(readFile(join(outside, 'new'))).rejects.toThrow('ENOENT')
  })

  it('takes away privileges, capabilities and limits, and filters system calls', async () => {
    const limits = new Map([['core', 0], ['nofile', 64], ['locks', 2 ** 40 + 5]])
    const { stdout } = await run('cat /proc/self/status /proc/self/limits', { wall: { ...shell('').wall, limits } })
    expect(stdout).toMatch(/^NoNewPrivs:\s+1$/m)
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'])
      expect(stdout).toMatch(new RegExp(`^${set}:\\s+0+$`, 'm'))
    expect(stdout).toMatch(/^Seccomp:\s+2$/m)
    expect(stdout).toMatch(/^Max open files +64 +64 /m)
    expect(stdout).toMatch(/^Max file locks +1099511627781 +1099511627781 /m)
  })

  it('leaves signals as a shell expects them', also, async () => {
    const { stdout } = await run('grep -E "^Sig(Ign|Blk)" /proc/self/status; kill -TERM $$')
    expect(stdout).toMatch(/^SigBlk:\s+0+\nSigIgn:\s+0+\n$/)
  })

  it('starts nothing if a part of the wall fails, and says which', also, async () => {
    const wall = { ...shell('').wall, filter: new Uint8Array(8) }
    const { stdout, stderr, end, failure } = await run('echo started', { wall })
    expect([stdout, end]).toEqual(['', LAUNCH_FAILED])
    expect(stderr).toContain('the seccomp filter failed (EINVAL)')
    expect(failure).toBeInstanceOf(LaunchError)
    expect(failure).toMatchObject({ step: 'the seccomp filter', code: 'EINVAL' })
  })

  it('says that the program does not exist', also, async () => {
    const { end, failure } = await run('', { argv: ['/nowhere/program'] })
    expect([end, failure]).toMatchObject([LAUNCH_FAILED, { step: 'to execute /nowhere/program', code: 'ENOENT' }])
  })

  it('passes input and output through pipes', also, async () => {
    const launched = await start(shell('cat; echo error >&2'), ['pipe', 'pipe', 'pipe'])
    launched.child.stdin!.end('input')
    expect(await outcome(launched)).toMatchObject({ stdout: 'input', stderr: 'error\n', end: 0 })
  })

  it('leads its own session, and is killed with its group', also, async () => {
    const { child, started } = await start(shell('sleep 600 & sleep 600'), ['ignore', 'ignore', 'ignore'])
    onTestFinished(() => void child.kill('SIGKILL'))
    await started
    const [, , , , group, session] = (await readFile(`/proc/${child.pid}/stat`, 'latin1')).split(' ')
    expect([group, session]).toEqual([String(child.pid), String(child.pid)])
    process.kill(-child.pid!, 'SIGKILL')
    expect(await new Promise((resolve) => child.once('close', (_code, signal) => resolve(signal)))).toBe('SIGKILL')
  })
})

describe('TCP', needs('Linux'), () => {
  it('reaches granted ports only', async () => {
    const servers = await Promise.all([0, 1].map(async () => {
      const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1')
      onTestFinished(() => void server.close())
      await once(server, 'listening')
      return (server.address() as AddressInfo).port
    }))
    const connect = `Promise.all([${servers.join()}].map((port) => new Promise((resolve) => {
      require('net').connect(port, '127.0.0.1').on('data', (data) => resolve(String(data)))
        .on('error', ({ code }) => resolve(code))
    }))).then((answers) => console.log(answers.join()))`
    const { stdout, stderr } = await outcome(launch({
      argv: [process.execPath, '--openssl-config=/nowhere', '-e', connect], env: {}, cwd: '/',
      wall: {
        rules: ruleSet({ run: nodeFiles() }, { connect: [servers[0]!] }, 1),
        filter: launcherFilter({ sockets: 'tcp', processes: false, metadata: true, confinesSignals: true }),
      },
    }, PIPES))
    expect([stdout, stderr]).toEqual([`hello,${look.stands && look.abi >= 4 ? 'EACCES' : 'hello'}\n`, ''])
  })
})

describe('the spare', needs('Linux'), () => {
  it('starts after the first use, serves one program, and is replaced', async () => {
    const own = new SpareLauncher()
    onTestFinished(() => own.close())
    const pids: (number | undefined)[] = []
    for (let round = 0; round < 3; round++) {
      const launched = own.launch(shell('echo $$'), PIPES)
      pids.push(launched.child.pid)
      expect(own.waits).toBe(false)
      expect(await outcome(launched)).toMatchObject({ stdout: `${launched.child.pid}\n`, end: 0 })
      await expect.poll(() => own.waits).toBe(true)
    }
    expect(new Set(pids).size).toBe(3)
  })

  it('does not keep the host running, and ends with it', LONG, async () => {
    const host = fileURLToPath(new URL('./fixtures/spare-host.ts', import.meta.url))
    const { stdout, status } = spawnSync(process.execPath, ['--no-warnings', host], { encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^\d+ $/)])
    await expect.poll(() => existsSync(`/proc/${Number(stdout)}/exe`)).toBe(false)
  })

  it('is not used for a program that gets a descriptor of the host', async () => {
    const file = openSync('/dev/zero', 'r')
    onTestFinished(() => closeSync(file))
    const launched = spares.launch(shell('readlink /proc/self/fd/0'), [file, 'pipe', 'pipe'])
    expect(await outcome(launched)).toMatchObject({ stdout: '/dev/zero\n', end: 0 })
  })

  it('serves a whole pipe, whose shell reports on a pipe of its own', LONG, async () => {
    const own = new SpareLauncher()
    onTestFinished(() => own.close())
    await outcome(own.launch(shell('true'), PIPES))
    await expect.poll(() => own.waits).toBe(true)
    const running = (await processTable())!.map(({ pid }) => pid)
    const launched = own.launch(shell('echo said; echo reported >&3'), [...PIPES, 'pipe'])
    const [report, { stdout }] = await Promise.all([text(launched.child.stdio[3] as Readable), outcome(launched)])
    expect([stdout, report, running.includes(launched.child.pid!)]).toEqual(['said\n', 'reported\n', true])
    const { stderr } = await outcome(own.launch(shell('true >&3'), PIPES))
    expect(stderr).toContain('Bad file descriptor')
  })
})
