import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { anyJson } from '../../../kit/test/samples/json.ts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { foundLocations, toolKind, toToolCall, toToolContent } from '../../src/acp/tool-call.ts'

const tool = (more: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: 'x', label: 'X', description: '', inputSchema: {}, requires: {}, mode: 'local', kind: 'other', gated: true,
  idempotent: false, effects: 'once', executor: 'local', ...more,
})
const shown = (args: Json, more?: Partial<ToolDefinition>) =>
  toToolCall({ id: 'c1', name: 'x', args, tool: tool(more), cwd: '/w' })
const metadata = { call_id: 'c1', tool: 'x', origin: null, duration_ms: 1, attempt: 1 }

describe('the kind of a tool', () => {
  it.each<[string, Partial<ToolDefinition>, string]>([
    ['declared', { kind: 'move', mode: 'read' }, 'move'],
    ['read', { mode: 'read' }, 'read'], ['safe_write', { mode: 'safe_write' }, 'edit'],
    ['destructive', { mode: 'destructive' }, 'delete'], ['external', { mode: 'external' }, 'fetch'],
    ['local with commands', { mode: 'local', requires: { shell: [{ cmd: 'git' }] } }, 'execute'],
    ['local', { mode: 'local' }, 'other'],
    ['of a server', { mode: 'read', executor: 'remote' }, 'other'],
    ['locked', { name: 'todo', mode: 'safe_write' }, 'other'],
  ])('that is %s: %j', (_, more, kind) => {
    expect(toolKind(tool(more))).toBe(kind)
  })
})

describe('a tool call', () => {
  it('has a title of one short line without invisible characters', () => {
    expect(shown({ command: 'ls -l\nrm -rf /' }).title).toBe('X: ls -l')
    expect(shown({ path: 'a\u202eb' }).title).toBe('X: a\\u{202e}b')
    expect(shown({ query: 'long '.repeat(100) }).title).toHaveLength(120)
    expect(shown({ other: 1 }).title).toBe('X')
    expect(toToolCall({ id: 'c1', name: 'y', args: null, tool: undefined, cwd: '/w' })).toMatchObject({
      title: 'y', kind: 'other',
    })
  })

  it('has absolute locations', () => {
    expect(shown({ path: 'src/../a.ts' }).locations).toEqual([{ path: '/w/a.ts' }])
    expect(shown({ file_path: '/b.ts', offset: 3 }).locations).toEqual([{ path: '/b.ts', line: 3 }])
    for (const path of ['', 'a\0b', 'x'.repeat(5000), 5, ['a']]) expect(shown({ path }).locations).toEqual([])
    expect(shown({ path: 'a', offset: -1 }).locations).toEqual([{ path: '/w/a' }])
  })

  it('has a diff if it edits', () => {
    const edit = { kind: 'edit' } as const
    expect(shown({ path: 'a', old_string: 'b', new_string: 'c' }, edit).content)
      .toEqual([{ type: 'diff', path: '/w/a', oldText: 'b', newText: 'c' }])
    expect(shown({ path: 'a', content: 'c' }, edit).content).toEqual([{ type: 'diff', path: '/w/a', newText: 'c' }])
    expect(shown({ path: 'a', content: 'c' }, { kind: 'read' }).content).toEqual([])
    expect(shown({ path: 'a', content: 'c'.repeat(2 ** 20) }, edit)).not.toHaveProperty('rawInput')
    expect(shown({ path: 'a', content: 'c'.repeat(2 ** 20) }, edit).content).toEqual([])
  })

  it('is made of any arguments', () => {
    fc.assert(fc.property(anyJson, (args) => {
      expect(shown(args, { kind: 'edit' })).toMatchObject({ toolCallId: 'c1', status: 'pending' })
    }))
  })
})

describe('an outcome', () => {
  const output = (data: Json, more: object = {}): Outcome => ({ type: 'output', data, metadata, ...more })

  it('is shown as content blocks', () => {
    const block = (content: object) => ({ type: 'content', content })
    expect(toToolContent(output({ a: 1 }))).toEqual([block({ type: 'text', text: '{"a":1}' })])
    expect(toToolContent(output('a\u202e\nb'))).toEqual([block({ type: 'text', text: 'a\\u{202e}\nb' })])
    const image = { type: 'image', data: 'AA==', mimeType: 'image/png' }
    const link = { type: 'resource_link', uri: 'file:///a', name: 'a' }
    const content = [image, link, { type: 'resource', uri: 'file:///b', text: 'b', mimeType: 'text/csv' }]
    expect(toToolContent(output(null, { content }))).toEqual([
      block(image), block(link),
      block({ type: 'resource', resource: { uri: 'file:///b', text: 'b', mimeType: 'text/csv' } }),
    ])
    const cut = output('head', { metadata: { ...metadata, truncated: true, output_path: '/s/1' } })
    expect(JSON.stringify(toToolContent(cut))).toContain('/s/1')
  })

  it('has the locations of a search, at most twenty', () => {
    const matches = Array.from({ length: 30 }, (_, index) => ({ path: 'a.ts', line: index + 1, text: 'x' }))
    expect(foundLocations(output({ matches }), '/w')).toHaveLength(20)
    expect(foundLocations(output({ matches: [{ path: 'a.ts', line: 2 }, { path: 5 }, null] }), '/w'))
      .toEqual([{ path: '/w/a.ts', line: 2 }])
    expect(foundLocations(output({ matches: 'x' }), '/w')).toEqual([])
  })
})
