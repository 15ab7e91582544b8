import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, it } from 'vitest'
import { Executables } from '../../src/main/broker/shell/executable.ts'
import { Launcher } from '../../src/main/broker/shell/launcher.ts'
import { OffLimits } from '../../src/main/broker/shell/off-limits.ts'
import { any, ShellGround } from './shell-ground.ts'

const ground = new ShellGround()
afterAll(() => ground.clear())
const launcher = (options: Partial<ConstructorParameters<typeof Launcher>[0]> = {}): Launcher =>
  new Launcher({ executables: new Executables(['/usr/bin', '/bin'], new OffLimits([])), ...options })

describe('limits of the system', () => {
  it('hold for the command and what it starts', async () => {
    ground.sh('limits', 'sh -c "ulimit -t; ulimit -v; ulimit -n; ulimit -c"')
    const rlimits = { cpuSeconds: 77, addressBytes: 4096 * 1024 * 1024, openFiles: 55, coreBytes: 0 }
    const { shell } = ground.open({ shell: any('limits') }, { rlimits })
    expect((await shell.run('limits')).stdout).toBe(`77\n${4096 * 1024}\n55\n0\n`)
  })

  it('are named to prlimit, each by its own name', async () => {
    const rlimits = { cpuSeconds: 1, addressBytes: 2, fileBytes: 3, openFiles: 4, coreBytes: 0, processes: 6 }
    const argv = (await launcher({ rlimits }).prepare())(['/bin/true'])
    expect(argv.slice(argv.indexOf('/usr/bin/prlimit'))).toEqual([
      '/usr/bin/prlimit', '--cpu=1', '--as=2', '--fsize=3', '--nofile=4', '--core=0', '--nproc=6', '--', '/bin/true',
    ])
  })

  it('a file grows up to them and not further', async () => {
    const { shell } = ground.open({ shell: any('dd', 4) }, { rlimits: { fileBytes: 64 * 1024 } })
    const ended = await shell.run('dd', ['if=/dev/zero', 'of=big', 'bs=1024', 'count=1000'])
    expect(ended).toMatchObject({ exitCode: null, signal: 'SIGXFSZ' })
    expect(statSync(join(ground.workspace, 'big')).size).toBe(64 * 1024)
  })

  it('processor time is', async () => {
    ground.sh('spins', 'while :; do :; done')
    const { shell } = ground.open({ shell: any('spins') }, { rlimits: { cpuSeconds: 1 } })
    expect((await shell.run('spins')).signal).toMatch(/^SIG(XCPU|KILL)$/)
  })

  it('one that is lower already stays', async () => {
    const low = ['--nofile=200', '--', process.execPath, join(import.meta.dirname, 'fixtures/limited-host.ts')]
    const host = spawn('/usr/bin/prlimit', low, { stdio: ['ignore', 'pipe', 'inherit'] })
    expect(await text(host.stdout)).toBe('--cpu=9 --nofile=200')
  })

  it('that cannot be set are an error, and none that was not asked for', async () => {
    const bare = { executables: new Executables([ground.bin], new OffLimits([])) }
    const limited = launcher({ ...bare, rlimits: { cpuSeconds: 1 } })
    await expect(limited.prepare()).rejects.toMatchObject({ code: 'CapabilityUnavailable' })
    expect((await launcher(bare).prepare())(['/bin/true', 'x'])).toEqual(['/bin/true', 'x'])
  })
})

describe('rights', () => {
  it('are not gained by what a command executes', async () => {
    const { shell } = ground.open({ shell: any('grep') })
    expect((await shell.run('grep', ['NoNewPrivs', '/proc/self/status'])).stdout).toBe('NoNewPrivs:\t1\n')
  })

  it('a program called setpriv that knows other options is not used', async () => {
    ground.sh('setpriv', 'exit 1')
    const executables = new Executables([ground.bin], new OffLimits([]))
    expect((await launcher({ executables }).prepare())(['/bin/true'])).toEqual(['/bin/true'])
  })

  it.each([
    ['says that there is no room for it', 'echo "setpriv: fork: Resource temporarily unavailable" >&2; exit 1'],
    ['is ended from outside', 'kill -KILL $$'],
  ])('one that %s is tried again: nothing runs without it meanwhile', async (_, script) => {
    const tried = join(ground.root, `tried ${script.length}`)
    const path = ground.sh('setpriv', `[ -e '${tried}' ] && exit 0; : > '${tried}'; ${script}`)
    const preparing = launcher({ executables: new Executables([ground.bin], new OffLimits([])) })
    await expect(preparing.prepare()).rejects.toMatchObject({ code: 'ResourceBusy' })
    expect((await preparing.prepare())(['/bin/true'])[0]).toBe(path)
  })
})

it('a command does not outlive a host that is killed', async () => {
  const lines = await ground.lifelines()
  ground.node('lingers', lines.hold('lingers'))
  const args = [join(import.meta.dirname, 'fixtures/dying-host.ts'), ground.workspace, ground.bin, 'lingers']
  const host = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const { died } = await lines.of('lingers')
  host.kill('SIGKILL')
  await died
})

describe('a wrapper', () => {
  it('is put between the limits and the command, and is what runs', async () => {
    ground.sh('tool', 'echo "tool $WRAPPED"')
    const { shell } = ground.open({ shell: any('tool') }, { wrap: (argv) => ['/usr/bin/env', 'WRAPPED=yes', ...argv] })
    expect((await shell.run('tool')).stdout).toBe('tool yes\n')
    const launch = await launcher({ rlimits: { cpuSeconds: 5 }, wrap: (argv) => ['/opt/wrapper', '--', ...argv] }).prepare()
    const last = ['/usr/bin/prlimit', '--cpu=5', '--', '/opt/wrapper', '--', '/bin/true', 'x']
    expect(launch(['/bin/true', 'x']).slice(-last.length)).toEqual(last)
  })

  it.each([['a name', ['env']], ['nothing', []]])('that returns %s is refused', async (_, argv) => {
    const launch = await launcher({ wrap: () => argv }).prepare()
    expect(() => launch(['/bin/true'])).toThrow(expect.objectContaining({ code: 'InternalError' }))
  })
})
