import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError, NO_GRANT, type BrokerMethod } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import type { ShellOptions } from '../../src/shell/shell.ts'
import { any, ShellSetup } from './shell-setup.ts'

let setup = new ShellSetup()
beforeEach(async () => {
  await setup.clear()
  setup = new ShellSetup()
})
afterAll(() => setup.clear())

const cancelled = new BulkheadError('ExecutionTimeout', 'It took too long.')
const grant = { ...NO_GRANT, shell: ['note', 'hold', 'deaf'].flatMap((name) => any(name)) }
const tool = { name: 'tester', grant, inputSchema: {}, requires: {} }

/** Calls of several sessions to one compartment. The command `note` writes down that it has started. */
function openCalls(options: Partial<ShellOptions> = {}) {
  const order = join(setup.root, 'order')
  appendFileSync(order, '')
  setup.sh('note', `echo "$1" >> '${order}'`)
  const { capability } = setup.open(grant, options)
  let calls = 0
  const ask = (method: BrokerMethod, session: string, args: readonly Json[]) => {
    const controller = new AbortController()
    const call = { callId: `call-${calls++}`, sessionId: session, tool, signal: controller.signal }
    const answer = Promise.resolve(capability.capabilities[method]!(call, args))
    // Awaited later, when it may have been rejected for long.
    answer.catch(() => undefined)
    return { answer, callId: call.callId, cancel: () => controller.abort(cancelled) }
  }
  return {
    capability,
    started: () => readFileSync(order, 'utf8').trim().split('\n').filter((line) => line !== ''),
    run: (session: string, ...command: readonly [string, ...string[]]) =>
      ask('shell.run', session, [command[0], command.slice(1)]),
    pipe: (session: string, name: string, timeoutMs: number) =>
      ask('shell.pipe', session, [[{ cmd: 'note', args: [name] }], { timeoutMs }]),
  }
}

/** Takes the only slot until it is killed. */
async function takeSlot({ run }: ReturnType<typeof openCalls>) {
  const lines = setup.lifelines()
  setup.sh('hold', lines.hold('hold'))
  const holder = run('holder', 'hold')
  const { pid } = await lines.of('hold')
  return async () => {
    process.kill(pid, 'SIGKILL')
    await holder.answer
  }
}

it('lets the ninth command wait, instead of rejecting it', LONG, async () => {
  const lines = setup.lifelines()
  const calls = openCalls()
  const labels = Array.from({ length: 8 }, (_, index) => `${index}`)
  setup.sh('hold', `case "$1" in ${labels.map((label) => `${label}) ${lines.hold(label)};;`).join(' ')} esac`)
  const holders = labels.map((label) => calls.run('a', 'hold', label))
  const all = await Promise.all(labels.map((label) => lines.of(label)))
  const ninth = calls.run('b', 'note', 'ninth')
  process.kill(all[0]!.pid, 'SIGKILL')
  expect(await ninth.answer).toMatchObject({ exitCode: 0 })
  for (const { pid } of all.slice(1)) process.kill(pid, 'SIGKILL')
  await Promise.all(holders.map(({ answer }) => answer))
})

describe('commands that wait', () => {
  it('start in turns of their sessions, each in order', LONG, async () => {
    const calls = openCalls({ concurrentCommands: 1 })
    const release = await takeSlot(calls)
    const waiting = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'].map((name) => calls.run(name[0]!, 'note', name))
    await release()
    await Promise.all(waiting.map(({ answer }) => answer))
    expect(calls.started()).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
  })

  it('never start if their call is cancelled or ends, and make room for others', async () => {
    const calls = openCalls({ concurrentCommands: 1 })
    const release = await takeSlot(calls)
    const [one, two, three] = ['one', 'two', 'three'].map((name) => calls.run('a', 'note', name))
    one!.cancel()
    await expect(one!.answer).rejects.toBe(cancelled)
    calls.capability.endCall(two!.callId)
    await expect(two!.answer).rejects.toMatchObject({ code: 'ToolCancelled' })
    await release()
    await three!.answer
    expect(calls.started()).toEqual(['three'])
  })

  it('never start after their timeout, and their result says why', async () => {
    const calls = openCalls({ concurrentCommands: 1 })
    const release = await takeSlot(calls)
    expect(await calls.pipe('a', 'late', 1).answer).toEqual({
      exits: [{ exitCode: null, signal: null }], stdout: '', truncated: false, timedOut: true,
      stderr: 'The command did not start before its timeout: 1 others were running.\n',
    })
    const next = calls.pipe('a', 'next', 600_000)
    await release()
    expect(await next.answer).toMatchObject({ timedOut: false, exits: [{ exitCode: 0 }] })
    expect(calls.started()).toEqual(['next'])
  })

  it('end with the compartment', async () => {
    const calls = openCalls({ concurrentCommands: 1 })
    await takeSlot(calls)
    const waiting = calls.run('a', 'note', 'never')
    await calls.capability.close()
    await expect(waiting.answer).rejects.toMatchObject({ code: 'CompartmentKilled' })
    await expect(calls.run('a', 'note', 'late').answer).rejects.toMatchObject({ code: 'CompartmentKilled' })
    expect(calls.started()).toEqual([])
  })

  it('are limited per session', async () => {
    const calls = openCalls({ concurrentCommands: 1 })
    const release = await takeSlot(calls)
    const waiting = Array.from({ length: 16 }, () => calls.run('a', 'note', 'a'))
    await expect(calls.run('a', 'note', 'a').answer)
      .rejects.toMatchObject({ code: 'TooManyCalls', data: { limit: 'concurrentCommands' } })
    const other = calls.run('b', 'note', 'b')
    await release()
    await Promise.all([...waiting, other].map(({ answer }) => answer))
    expect(calls.started().toSpliced(1, 1)).toEqual(Array.from({ length: 16 }, () => 'a'))
  })

  it('wait for a cancelled command until its processes have ended', async () => {
    const lines = setup.lifelines()
    const calls = openCalls({ concurrentCommands: 1, graceMs: 60_000 })
    setup.sh('deaf', `trap '' TERM; ${lines.hold('deaf')}`)
    const deaf = calls.run('a', 'deaf')
    const { pid, died } = await lines.of('deaf')
    deaf.cancel()
    await expect(deaf.answer).rejects.toBe(cancelled)
    const next = calls.run('a', 'note', 'next')
    const events: string[] = []
    const all = [died.then(() => events.push('died')), next.answer.then(() => events.push('next'))]
    process.kill(pid, 'SIGKILL')
    await Promise.all(all)
    expect(events).toEqual(['died', 'next'])
  })
})

describe('a slot', () => {
  it('is free after a command that is denied or missing', async () => {
    const { shell } = setup.open({ shell: [...any('tool'), ...any('missing')] }, { concurrentCommands: 1 })
    setup.sh('tool', 'echo here')
    await expect(shell.run('missing')).rejects.toMatchObject({ code: 'NotFound' })
    await expect(shell.run('tool', [], { cwd: '..' })).rejects.toMatchObject({ code: 'CapabilityDenied' })
    expect((await shell.run('tool')).stdout).toBe('here\n')
  })

  it('is used again, many times in a row', LONG, async () => {
    setup.sh('tool', 'echo "$1"')
    const { shell } = setup.open({ shell: any('tool') })
    const names = Array.from({ length: thoroughly(20, 100) }, (_, index) => `${index}`)
    const results = await Promise.all(names.map((name) => shell.run('tool', [name])))
    expect(results.map(({ stdout }) => stdout.trim())).toEqual(names)
  })
})
