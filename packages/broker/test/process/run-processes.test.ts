import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { BulkheadError } from '@bulkhead/contract'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { processRow } from '../../src/process/run-processes.ts'
import { any, ShellSetup, starts } from '../shell/shell-setup.ts'

let setup = new ShellSetup()
beforeEach(async () => {
  await setup.clear()
  setup = new ShellSetup()
})
afterAll(() => setup.clear())

/** Whether the process has ended or is a zombie. */
const isOver = (pid: number): boolean => processRow(pid)?.ended ?? true
const cancelled = new BulkheadError('ToolCancelled', 'The person thought better of it.')
const DEAF = "trap '' TERM"

describe('a cancelled call', () => {
  it.each([
    ['a child and a grandchild', ':', []],
    ['processes that ignore SIGTERM', DEAF, []],
    ['processes in their own session', ':', ['session']],
    [
      'processes in their own session that ignore SIGTERM and have no environment', DEAF, ['session', 'environment'],
    ],
    ['processes that have closed their pipes', ':', ['session', 'pipes']],
  ] as const)('ends %s', async (_, deaf, without) => {
    const lines = setup.lifelines()
    const grandchild = setup.sh('grandchild', `${deaf}; ${lines.hold('grandchild')}`)
    const child = setup.sh('child', `${deaf}; ${starts(grandchild, ...without)} ${lines.hold('child')}`)
    setup.sh('family', `${deaf}; ${starts(child, ...without)} ${lines.hold('command')}`)
    const { shell, cancel, capability } = setup.open({ shell: any('family') })
    const result = shell.run('family')
    const family = await Promise.all(['command', 'child', 'grandchild'].map((label) => lines.of(label)))
    cancel(cancelled)
    await expect(result).rejects.toBe(cancelled)
    await capability.close()
    expect(family.map(({ pid }) => isOver(pid))).toEqual([true, true, true])
    await Promise.all(family.map(({ died }) => died))
  })

  it('ends processes that left session, environment and parent before the first scan', async () => {
    const lines = setup.lifelines()
    const AWAY = ['session', 'environment', 'pipes'] as const
    const other = setup.sh('other', lines.hold('other'))
    setup.sh('brief', `${starts(other, ...AWAY)} echo $!`)
    const away = setup.sh('away', lines.hold('away'))
    const between = setup.sh('between', starts(away, ...AWAY))
    setup.sh('long', `${starts(between)} ${lines.hold('long')}`)
    const { shell, cancel, capability } = setup.open({ shell: [...any('brief'), ...any('long')] })
    const { stdout } = await shell.run('brief')
    const result = shell.run('long')
    const family = await Promise.all(['long', 'away'].map((label) => lines.of(label)))
    cancel(cancelled)
    await expect(result).rejects.toBe(cancelled)
    await capability.close()
    expect([Number(stdout), ...family.map(({ pid }) => pid)].map(isOver)).toEqual([true, true, true])
    await Promise.all(family.map(({ died }) => died))
  })

  it('rejects at once, before its processes have ended', LONG, async () => {
    const lines = setup.lifelines()
    setup.sh('deaf', `${DEAF}; ${lines.hold('deaf')}`)
    const { shell, cancel } = setup.open({ shell: any('deaf') }, { graceMs: 60_000 })
    const result = shell.run('deaf')
    const { pid } = await lines.of('deaf')
    cancel(cancelled)
    await expect(result).rejects.toBe(cancelled)
    expect(isOver(pid)).toBe(false)
    process.kill(pid, 'SIGKILL')
  })

  it('lets a command clean up on SIGTERM', async () => {
    const lines = setup.lifelines()
    // Of the ways to wait, `wait` is the one that a signal with a trap interrupts at once.
    const waits = `trap tidies TERM; sleep 1000 & ${lines.report('tidy')}; wait`
    setup.sh('tidy', `tidies() { ${lines.hold('tidied')}; }; ${waits}`)
    const { shell, cancel } = setup.open({ shell: any('tidy') }, { graceMs: 10_000 })
    const result = shell.run('tidy')
    const { pid } = await lines.of('tidy')
    cancel(cancelled)
    await expect(result).rejects.toBe(cancelled)
    expect((await lines.of('tidied')).pid).toBe(pid)
    process.kill(pid, 'SIGKILL')
  })

  it('ends a stopped process', async () => {
    const lines = setup.lifelines()
    setup.sh('still', lines.hold('still'))
    const { shell, cancel } = setup.open({ shell: any('still') })
    const result = shell.run('still')
    const { pid, died } = await lines.of('still')
    process.kill(pid, 'SIGSTOP')
    cancel(cancelled)
    await expect(result).rejects.toBe(cancelled)
    await died
  })

  it('ends no other processes', async () => {
    const lines = setup.lifelines()
    setup.sh('mine', lines.hold('mine'))
    setup.sh('other', lines.hold('other'))
    const mine = setup.open({ shell: any('mine') })
    const other = setup.open({ shell: any('other') })
    const results = [mine.shell.run('mine'), other.shell.run('other')]
    const [gone, stays] = await Promise.all([lines.of('mine'), lines.of('other')])
    mine.cancel(cancelled)
    await expect(results[0]).rejects.toBe(cancelled)
    await mine.capability.close()
    await gone.died
    expect(isOver(stays.pid)).toBe(false)
    other.cancel(cancelled)
    await expect(results[1]).rejects.toBe(cancelled)
  })
})

describe('the end of a command', () => {
  const left = async (...without: Parameters<typeof starts>[1][]): Promise<void> => {
    const lines = setup.lifelines()
    // Ends when its child has started.
    const child = setup.sh('child', lines.hold('left'))
    setup.sh('leaves', `printf output; ${starts(child, ...without)} ${lines.hold('command')}`)
    const { shell, capability } = setup.open({ shell: any('leaves') })
    const result = shell.run('leaves')
    const command = await lines.of('command')
    const { pid, died } = await lines.of('left')
    process.kill(command.pid, 'SIGINT')
    expect(await result).toMatchObject({ signal: 'SIGINT', stdout: 'output' })
    await capability.close()
    expect(isOver(pid)).toBe(true)
    await died
  }

  it('ends a child that holds the pipes', LONG, () => left())
  it('ends a child that holds the pipes in its own session', LONG, () => left('session'))
  it('ends a child that has closed the pipes', LONG, () => left('pipes'))
  it('ends a child that has closed the pipes, in its own session', LONG, () => left('pipes', 'session'))
  it('ends a child that has cleared its environment', () => left('pipes', 'environment'))

  it('ends a child that has cleared its environment, in its own group', LONG, async () => {
    const lines = setup.lifelines()
    const holder = setup.sh('holder', lines.hold('left'))
    // A shell with job control starts each job in its own group.
    setup.command(
      'leaves', `#!/bin/bash\nset -m; mkfifo gate; env -i ${holder} </dev/null >/dev/null 2>&1 & read -r go <gate`,
    )
    const { shell, capability } = setup.open({ shell: any('leaves') })
    const result = shell.run('leaves')
    const { pid, died } = await lines.of('left')
    const { group, session } = processRow(pid)!
    expect(group, 'the fixture does what it is for').toBe(pid)
    expect(session).not.toBe(pid)
    await writeFile(join(setup.workspace, 'gate'), 'go\n')
    expect(await result).toMatchObject({ exitCode: 0 })
    await capability.close()
    await died
  })

  it('does not wait for a process that has escaped every check', LONG, async () => {
    const lines = setup.lifelines()
    const escapes = setup.sh('escapes', lines.hold('escaped'))
    const limited = `/usr/bin/prlimit --locks=5 -- ${escapes}`
    const middle = setup.sh('middle', `${starts(limited, 'session', 'environment')} ${lines.hold('middle')}`)
    setup.sh('leaves', `printf output; ${starts(middle, 'session', 'environment')} ${lines.hold('command')}`)
    const { shell, capability } = setup.open({ shell: any('leaves') })
    const result = shell.run('leaves')
    const [command, between, escaped] = await Promise.all(['command', 'middle', 'escaped'].map((label) =>
      lines.of(label)))
    process.kill(between!.pid, 'SIGKILL')
    await between!.died
    process.kill(command!.pid, 'SIGINT')
    expect(await result).toMatchObject({ signal: 'SIGINT', stdout: 'output' })
    await capability.close()
    expect(isOver(escaped!.pid)).toBe(false)
    process.kill(escaped!.pid, 'SIGKILL')
    await escaped!.died
  })

  it('ends children even if the host had no descriptors left', LONG, async () => {
    setup.sh('leaves', `${starts('/bin/sleep 1000', 'session', 'pipes')} echo $$ $!; exec /bin/sleep 1000`)
    const fixture = join(import.meta.dirname, 'fixtures/crowded-leftovers.ts')
    const script = 'ulimit -n 512; exec "$0" --no-warnings "$@"'
    const args = ['-c', script, process.execPath, fixture, setup.workspace, setup.bin, 'leaves']
    const { stdout } = await promisify(execFile)('/bin/sh', args)
    expect(stdout).toBe('gone')
  })

  it('waits a bounded time for a child that keeps writing', async () => {
    setup.sh('talks', '(while :; do echo more; sleep 0.02; done) & echo first')
    const { shell } = setup.open({ shell: any('talks') })
    const { exitCode, stdout } = await shell.run('talks')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('first\n')
  })

  it('includes output written just after it', async () => {
    setup.sh('echoes', '(sleep 0.05; echo last) & echo first')
    // Its pipes close after the output, so the test does not wait for the long pause.
    const { shell } = setup.open({ shell: any('echoes') }, { drainMs: 20_000 })
    expect((await shell.run('echoes')).stdout).toBe('first\nlast\n')
  })
})
