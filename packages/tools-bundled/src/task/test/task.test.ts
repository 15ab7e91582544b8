import { describe, expect, it } from 'vitest'
import type { Delegate, DelegatedTask } from '../task.ts'
import { sessionMemory } from '../../../test/memory.ts'
import { toolSession } from '../../../test/tool-session.ts'

describe('task', () => {
  const tasks: DelegatedTask[] = []
  let run: Delegate
  const tool = toolSession('task', { session: sessionMemory() }, {
    bundled: {
      delegate: (task) => {
        tasks.push(task)
        return run(task)
      },
    },
  })

  it('delegates and returns the output, with the session of the agent', async () => {
    run = async ({ prompt }) => ({ sessionId: 'child', output: `did: ${prompt}` })
    expect(await tool.call({ subagent_type: 'explorer', prompt: 'look', metadata: { a: 1 } })).toEqual({
      type: 'output', data: { output: 'did: look' }, content: [{ type: 'text', text: 'did: look' }],
      metadata: { child_loop_id: 'child' },
    })
    expect(tasks.at(-1)).toMatchObject({
      agent: 'explorer', prompt: 'look', background: false, metadata: { a: 1 }, sessionId: 'session-1',
      callId: expect.stringMatching(/^c\d+$/),
    })
  })

  it('returns the session of an agent in the background', async () => {
    run = async () => ({ sessionId: 'child' })
    expect(await tool.call({ subagent_type: 'a', prompt: 'go', background: true }))
      .toEqual({ type: 'output', data: { session_id: 'child' }, metadata: { child_loop_id: 'child' } })
    expect(tasks.at(-1)).toMatchObject({ background: true, metadata: {} })
  })

  it('reports errors of the agent, and aborts its signal when the call is cancelled', async () => {
    run = () => Promise.reject(new Error('the model is gone'))
    expect(await tool.refusal({ subagent_type: 'a', prompt: 'go' })).toMatchObject({
      code: 'ToolExecutionFailed', message: 'the model is gone',
    })
    const cancel = new AbortController()
    const aborted = Promise.withResolvers<void>()
    run = ({ signal }) => new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        aborted.resolve()
        reject(signal.reason as Error)
      })
      cancel.abort(new Error('enough'))
    })
    await expect(tool.call({ subagent_type: 'a', prompt: 'go' }, cancel.signal)).rejects.toThrow('enough')
    await aborted.promise
  })

  it('uses the agent type as its approval key', async () => {
    expect(await tool.key({ subagent_type: 'explorer', prompt: 'x' })).toBe('explorer')
  })
})

describe('task without an agent runner', () => {
  const tool = toolSession('task', { session: sessionMemory() })
  it('fails with CapabilityUnavailable', async () => {
    expect(await tool.refusal({ subagent_type: 'a', prompt: 'go' })).toMatchObject({
      code: 'CapabilityUnavailable', message: /no sub-agents/,
    })
  })
})
