import { describe, expect, it } from 'vitest'
import { todo } from '../../src/todo/todo.ts'
import { sessionMemory } from '../memory.ts'
import { toolSession } from '../tool-session.ts'

describe('todo', () => {
  const memory = sessionMemory()
  const tool = toolSession(todo, { session: memory })

  it('keeps the list of a session, and gives it back', async () => {
    const todos = [{ content: 'find it', status: 'completed', id: 'a' }, { content: 'mend it', status: 'in_progress', priority: 'high' }]
    expect(await tool.call({ todos })).toEqual({ todos })
    expect(await memory.read('c')).toMatchObject({ data: todos })
    memory.current = 'session-2'
    expect(await tool.call({ todos: [] })).toEqual({ todos: [] })
    memory.current = 'session-1'
    expect(await memory.read('c')).toMatchObject({ data: todos })
  })

  it('has one key', async () => {
    expect(await tool.key({ todos: [] })).toBe('todo')
  })
})

describe('todo without a session', () => {
  const tool = toolSession(todo)
  it('says so', async () => {
    expect((await tool.refusal({ todos: [] })).code).toBe('CapabilityUnavailable')
  })
})
