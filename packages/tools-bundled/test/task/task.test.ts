import { describe, expect, it } from 'vitest'
import { createTask, type AgentRequest, type AgentRunner } from '../../src/task/task.ts'
import { sessionMemory } from '../memory.ts'
import { toolSession } from '../tool-session.ts'

describe('task', () => {
  const requests: AgentRequest[] = []
  let run: AgentRunner
  const tool = toolSession(createTask((request, signal) => {
    requests.push(request)
    return run(request, signal)
  }), { session: sessionMemory() })

  it('runs an agent and returns its result', async () => {
    run = async ({ prompt }) => ({ output: `did: ${prompt}` })
    expect(await tool.call({ subagent_type: 'explorer', prompt: 'look', metadata: { a: 1 } })).toEqual({ output: 'did: look' })
    expect(requests.at(-1)).toEqual({
      type: 'explorer', prompt: 'look', background: false, metadata: { a: 1 }, sessionId: 'session-1', callId: expect.stringMatching(/^c\d+$/),
    })
  })

  it('returns the session of a background agent, and refuses one that was not requested', async () => {
    run = async () => ({ sessionId: 'child' })
    expect(await tool.call({ subagent_type: 'a', prompt: 'go', background: true })).toEqual({ session_id: 'child' })
    expect((await tool.refusal({ subagent_type: 'a', prompt: 'go' })).code).toBe('ToolExecutionFailed')
  })

  it('reports errors of the agent, and aborts its signal when the call is cancelled', async () => {
    run = () => Promise.reject(new Error('the model is gone'))
    expect(await tool.refusal({ subagent_type: 'a', prompt: 'go' })).toMatchObject({ code: 'ToolExecutionFailed', message: 'the model is gone' })
    const cancel = new AbortController()
    const aborted = Promise.withResolvers<void>()
    run = (_, signal) => new Promise((_resolve, reject) => {
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
  const tool = toolSession(createTask(), { session: sessionMemory() })
  it('fails with CapabilityUnavailable', async () => {
    expect(await tool.refusal({ subagent_type: 'a', prompt: 'go' })).toMatchObject({ code: 'CapabilityUnavailable', message: /no sub-agents/ })
  })
})
