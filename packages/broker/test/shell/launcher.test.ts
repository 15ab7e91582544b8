import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { newProcessMark } from '@bulkhead/kit/processes'
import { afterAll, describe, expect, it } from 'vitest'
import { Executables, UntrustedFolders } from '../../src/process/executable.ts'
import { Launcher } from '../../src/shell/command-environment.ts'
import { any, ShellSetup } from './shell-setup.ts'

const setup = new ShellSetup()
afterAll(() => setup.clear())
const launcher = (): Launcher => new Launcher(new Executables([setup.bin], new UntrustedFolders([])))

it('leaves a command unchanged without setpriv and prlimit', async () => {
  expect((await launcher().prepare())(['/bin/true', 'x'], newProcessMark())).toEqual(['/bin/true', 'x'])
})

it('sets a process mark among the limits of each run', async () => {
  const system = new Launcher(new Executables(['/usr/bin', '/bin'], new UntrustedFolders([])))
  const argv = (await system.prepare())(['/bin/true'], 2 ** 40 + 7)
  expect(argv.slice(-4)).toEqual(['/usr/bin/prlimit', `--locks=${2 ** 40 + 7}`, '--', '/bin/true'])
  expect(newProcessMark()).not.toBe(newProcessMark())
})

describe('setpriv', () => {
  it('keeps a command from gaining privileges', async () => {
    const { shell } = setup.open({ shell: any('grep') })
    expect((await shell.run('grep', ['NoNewPrivs', '/proc/self/status'])).stdout).toBe('NoNewPrivs:\t1\n')
  })

  it('is not used if it does not know the options', async () => {
    setup.sh('setpriv', 'exit 1')
    expect((await launcher().prepare())(['/bin/true'], newProcessMark())).toEqual(['/bin/true'])
  })

  it.each([
    ['reports a shortage of resources', 'echo "setpriv: fork: Resource temporarily unavailable" >&2; exit 1'],
    ['is killed', 'kill -KILL $$'],
  ])('is tried again if it %s, and no command runs without it meanwhile', async (_, script) => {
    const tried = join(setup.root, `tried ${script.length}`)
    const path = setup.sh('setpriv', `[ -e '${tried}' ] && exit 0; : > '${tried}'; ${script}`)
    const preparing = launcher()
    await expect(preparing.prepare()).rejects.toMatchObject({ code: 'ResourceBusy' })
    expect((await preparing.prepare())(['/bin/true'], newProcessMark())[0]).toBe(path)
  })
})

it('ends a command when its host is killed', async () => {
  const lines = setup.lifelines()
  setup.sh('lingers', lines.hold('lingers'))
  const args = [join(import.meta.dirname, 'fixtures/dying-host.ts'), setup.workspace, setup.bin, 'lingers']
  const host = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const { died } = await lines.of('lingers')
  host.kill('SIGKILL')
  await died
})
