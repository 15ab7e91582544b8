import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { World } from './world.ts'

let world: World
beforeEach(() => { world = new World() })
afterEach(() => world.end())

const inWork = (name: string): string => join(world.workspace, name)

describe('a call of an ACP agent', () => {
  it('is shown with its kind, location and result', async () => {
    await world.open()
    writeFileSync(inWork('notes.md'), 'one\ntwo\n')
    await world.call(['read', { path: 'notes.md', offset: 2 }])
    expect(world.of('c1')).toMatchObject([
      {
        sessionUpdate: 'tool_call', title: 'Read: notes.md', name: 'read', kind: 'read', status: 'pending',
        locations: [{ path: inWork('notes.md'), line: 2 }], rawInput: { path: 'notes.md', offset: 2 },
      },
      { sessionUpdate: 'tool_call_update', status: 'in_progress' },
      {
        sessionUpdate: 'tool_call_update', status: 'completed',
        rawOutput: { path: 'notes.md', content: 'two\n' },
        content: [{ type: 'content', content: { type: 'text' } }],
      },
    ])
    expect(world.asked).toEqual([])
  })

  it('shows the diff of an edit, and asks with it', async () => {
    await world.open({ person: () => 'allow_once' })
    writeFileSync(inWork('a.txt'), 'one two three')
    const diff = { type: 'diff', path: inWork('a.txt'), oldText: 'two', newText: '2' }
    await world.call(['edit', { path: 'a.txt', old_string: 'two', new_string: '2' }])
    expect(readFileSync(inWork('a.txt'), 'utf8')).toBe('one 2 three')
    expect(world.asked).toMatchObject([{
      sessionId: 's1',
      toolCall: { toolCallId: 'c1', title: 'Edit: a.txt', status: 'pending', content: [diff, { type: 'content' }] },
      options: [
        { kind: 'allow_once' }, { kind: 'allow_always', name: 'Always allow this file (a.txt) in this session' },
        { kind: 'allow_always', name: 'Always allow the whole workspace (1 file) in this session' },
        { kind: 'reject_once' }, { optionId: 'later' }, { kind: 'reject_always' },
      ],
    }])
    expect(JSON.stringify(world.asked)).toContain('arguments:')
    const shown = world.of('c1')
    expect(shown[0]).toMatchObject({ kind: 'edit', content: [diff] })
    expect(shown.at(-1)).toMatchObject({ status: 'completed', content: [diff] })
  })

  it('is failed if it is denied, unknown or fails', async () => {
    await world.open({ person: () => 'reject_once' })
    const outcomes = await world.call(
      ['write', { path: 'a.txt', content: 'x' }], ['raed', {}], ['read', { path: 'nowhere' }],
    )
    expect(outcomes).toMatchObject([
      { error: { code: 'ApprovalDenied' } }, { error: { code: 'ToolNotRegistered' } }, { error: { code: 'NotFound' } },
    ])
    expect(existsSync(inWork('a.txt'))).toBe(false)
    expect(world.of('c1')[0]).toMatchObject({ content: [{ type: 'diff', path: inWork('a.txt'), newText: 'x' }] })
    for (const [id, text] of [['c1', /rejected/], ['c2', /no tool "raed"/], ['c3', /nowhere/]] as const) {
      expect(world.of(id).at(-1)).toMatchObject({
        status: 'failed', content: [{ type: 'content', content: { type: 'text', text: expect.stringMatching(text) } }],
      })
    }
    expect(world.of('c2')[0]).toMatchObject({ sessionUpdate: 'tool_call', kind: 'other', title: 'raed' })
  })

  it('is not shown in the session of the parent if a sub-agent makes it', async () => {
    await world.open()
    writeFileSync(inWork('a.txt'), 'x')
    const subagent = await world.session!.openSubagent()
    expect(await subagent.call({ id: 'sub', name: 'read', arguments: { path: 'a.txt' } })).toMatchObject({
      type: 'output',
    })
    await world.call(['read', { path: 'a.txt' }])
    expect(world.of('sub')).toEqual([])
  })

  it('shows what a search found', async () => {
    await world.open({ person: () => 'allow_once' })
    writeFileSync(inWork('a.txt'), 'x\nneedle\n')
    await world.call(['grep', { pattern: 'needle' }])
    expect(world.of('c1').at(-1)).toMatchObject({ locations: [{ path: inWork('a.txt'), line: 2 }] })
  })
})

describe('a permission', () => {
  const write = (content: string) => ['write', { path: 'a.txt', content }] as const

  it('is asked for again if it was for one call', async () => {
    await world.open({ person: () => 'allow_once' })
    await world.call(write('1'), write('2'))
    expect(world.asked).toHaveLength(2)
  })

  it('covers its key for the session if the answer is always', async () => {
    await world.open({ person: () => 'allow_always' })
    await world.call(write('1'), write('2'))
    expect(world.asked).toHaveLength(1)
    expect(readFileSync(inWork('a.txt'), 'utf8')).toBe('2')
  })

  it('is not asked for again if its key is always rejected, except for another key', async () => {
    await world.open({ person: () => 'reject_always' })
    const outcomes = await world.call(write('1'), write('2'), ['write', { path: 'deep/a.txt', content: 'x' }])
    expect(outcomes.map(({ type }) => type)).toEqual(['error', 'error', 'error'])
    expect(world.asked).toHaveLength(2)
    expect(existsSync(inWork('a.txt'))).toBe(false)
  })

  it.each([
    ['cancelled', undefined], ['answered with an option that was not offered', 'allow_everything'],
    ['answered with an inherited name', 'constructor'],
  ])('is not given if the question is %s', async (_, optionId) => {
    await world.open({ person: () => optionId })
    expect(await world.call(write('1'))).toMatchObject([{ error: { code: 'ApprovalDenied' } }])
    expect(existsSync(inWork('a.txt'))).toBe(false)
  })
})

describe('another question', () => {
  const question = [
    'question', { questions: [{ question: 'Which?', options: [{ label: 'a' }, { label: 'b' }] }] },
  ] as const

  it('is a form of a client that has forms', async () => {
    await world.open({
      capabilities: { elicitation: { form: {} } },
      client: (app) => app.onRequest('elicitation/create', ({ params }) => {
        expect(params).toMatchObject({
          mode: 'form', sessionId: 's1', toolCallId: 'c1', message: expect.stringContaining('Which?'),
        })
        return { action: 'accept', content: { answer: 'b' } }
      }),
    })
    expect(await world.call(question)).toMatchObject([{ data: { answers: [['b']] } }])
  })

  it('is not answered by a client without forms', async () => {
    await world.open()
    expect(await world.call(question)).toMatchObject([{ type: 'error' }])
  })
})
