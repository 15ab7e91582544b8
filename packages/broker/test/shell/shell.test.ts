import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { BulkheadError } from '@bulkhead/contract'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { any, ShellSetup } from './shell-setup.ts'

let setup = new ShellSetup()
beforeEach(async () => {
  await setup.clear()
  setup = new ShellSetup()
})
afterAll(() => setup.clear())
const cancelled = new BulkheadError('ExecutionTimeout', 'It took too long.')

describe('the end', () => {
  it('of a call ends its own commands only', async () => {
    const lines = setup.lifelines()
    setup.sh('one', lines.hold('one'))
    setup.sh('two', lines.hold('two'))
    const { shell, capability } = setup.open({ shell: [...any('one'), ...any('two')] })
    const one = shell.run('one')
    capability.endCall('another')
    process.kill((await lines.of('one')).pid, 'SIGINT')
    expect(await one).toMatchObject({ signal: 'SIGINT' })
    const two = shell.run('two')
    const { died } = await lines.of('two')
    capability.endCall('call')
    await expect(two).rejects.toMatchObject({ code: 'ToolCancelled' })
    await died
  })

  it('of a compartment ends all commands and rejects new ones', async () => {
    const lines = setup.lifelines()
    setup.sh('tool', lines.hold('tool'))
    const { shell, capability } = setup.open({ shell: any('tool') })
    const result = shell.run('tool')
    const { died } = await lines.of('tool')
    const starting = shell.run('tool')
    const closed = Promise.all([capability.close(), capability.close()])
    // Either may be rejected first.
    await Promise.all([result, starting].map((one) => expect(one).rejects.toMatchObject({ code: 'CompartmentKilled' })))
    await expect(shell.run('tool')).rejects.toMatchObject({ code: 'CompartmentKilled' })
    await closed
    await died
  })

  it('of a call before its command starts prevents the start', async () => {
    setup.sh('tool', 'touch ran')
    const { shell, cancel } = setup.open({ shell: any('tool') })
    const result = shell.run('tool')
    cancel(cancelled)
    await expect(result).rejects.toBe(cancelled)
    await expect(shell.run('tool'), 'a call that is over already').rejects.toBe(cancelled)
    expect((await setup.open({ shell: any('ls') }).shell.run('ls')).stdout).toBe('')
  })

  it('of a call after its command has ended changes nothing', async () => {
    setup.sh('tool', 'echo here')
    const { shell, cancel, capability } = setup.open({ shell: any('tool') })
    const result = await shell.run('tool')
    cancel(cancelled)
    capability.endCall('call')
    await capability.close()
    expect(result).toMatchObject({ exitCode: 0, stdout: 'here\n' })
  })
})

it('offers no shell on platforms without process groups', () => {
  const { capability } = setup.open({ shell: any('tool') }, { platform: 'win32' })
  expect(capability.capabilities).toEqual({})
})

it('settles each command once and leaves no process, whenever it is cancelled', async () => {
  const THIRDS = thoroughly(1, 7)
  const trace = `9${process.pid}`
  setup.sh('tool', `setsid sleep ${trace} & echo begun; test -z "$1" || sleep ${trace}`)
  const outcomes = new Map<string, number>()
  const count = (outcome: string): void => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  for (let time = 0; time < THIRDS * 3; time++) {
    const when = (['start', 'word', 'never'] as const)[time % 3]!
    const controller = new AbortController()
    const onUpdate = (): void => {
      if (when === 'word') controller.abort(cancelled)
    }
    const { shell, capability } = setup.open(
      { shell: any('tool') }, { updateMs: 1 }, { signal: controller.signal, onUpdate },
    )
    const runs = Array.from({ length: 5 }, () => shell.run('tool', when === 'never' ? [] : ['wait'])
      .then(({ stdout }) => stdout, (error: unknown) => (error as BulkheadError).code)
      .then((outcome) => count(`${when}: ${outcome}`)))
    if (when === 'start') controller.abort(cancelled)
    await Promise.all(runs)
    await capability.close()
  }
  expect(Object.fromEntries(outcomes)).toEqual({
    'start: ExecutionTimeout': THIRDS * 5, 'word: ExecutionTimeout': THIRDS * 5, 'never: begun\n': THIRDS * 5,
  })
  expect(process.getActiveResourcesInfo().filter((kind) => kind === 'ProcessWrap')).toEqual([])
  expect(commandLines().filter((line) => line.includes(trace))).toEqual([])
})

/** The command lines of all processes. */
function commandLines(): readonly string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    } catch {
      return ''
    }
  })
}
