import { describe, expect, it } from 'vitest'
import { sessionMemory } from '../../../test/memory.ts'
import { toolSession } from '../../../test/tool-session.ts'

describe('todo', () => {
  const memory = sessionMemory()
  const tool = toolSession('todo', { session: memory })

  it('stores the list of a session and returns it', async () => {
    const todos = [
      { content: 'find it', status: 'completed', id: 'a' },
      { content: 'mend it', status: 'in_progress', priority: 'high' },
    ]
    expect(await tool.call({ todos })).toEqual({ todos })
    expect(await memory.read('c')).toMatchObject({ data: todos })
    memory.current = 'session-2'
    expect(await tool.call({ todos: [] })).toEqual({ todos: [] })
    memory.current = 'session-1'
    expect(await memory.read('c')).toMatchObject({ data: todos })
  })

  it('uses a fixed approval key', async () => {
    expect(await tool.key({ todos: [] })).toBe('todo')
  })
})

describe('todo without a session', () => {
  const tool = toolSession('todo')
  it('fails with CapabilityUnavailable', async () => {
    expect((await tool.refusal({ todos: [] })).code).toBe('CapabilityUnavailable')
  })
})
