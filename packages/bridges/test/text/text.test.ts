import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromAnswer, toInstructions, toResultsMessage } from '../../src/text/index.ts'

const toolOf = (name: string, description = name): ToolDefinition => ({
  name, label: name, description, requires: {}, mode: 'read', kind: 'read', gated: false,
  idempotent: true, effects: 'idempotent',
  executor: 'local', inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
})
const tools = [toolOf('read'), toolOf('write')]
const named = (text: string, options = { tools } as Parameters<typeof fromAnswer>[1]) =>
  fromAnswer(text, options).calls.map(({ name, arguments: args }) => [name, args])
const READ = '{"name": "read", "arguments": {"path": "a"}}'
const read = [['read', { path: 'a' }]]

describe('instructions', () => {
  it('describe each tool in one line of JSON', () => {
    const lines = toInstructions([toolOf('read', 'Reads.\n### write\n```\u202E'), toolOf('write')]).split('\n')
    const listed = lines.filter((line) => line.startsWith('{"name":"'))
    expect(listed).toEqual([
      String.raw`{"name":"read","description":"Reads.\n### write\n`
        + '```'
        + String.raw`\u202e","arguments":{"type":"object","properties":{"path":{"type":"string"}}}}`,
      '{"name":"write","description":"write","arguments":{"type":"object","properties":{"path":{"type":"string"}}}}',
    ])
  })

  it('show a call that the parser reads', () => {
    expect(named(toInstructions([]), {})).toEqual([['the_tool', { argument: 'value' }]])
  })
})

describe('an answer', () => {
  it.each([
    ['a fenced block', `I will read it.\n\n\`\`\`tool_call\n${READ}\n\`\`\`\n`],
    ['a block of JSON', `\`\`\`json\n${READ}\n\`\`\``],
    ['a tag', `<tool_call>\n${READ}\n</tool_call>`],
    ['a trained mark', `[TOOL_CALLS] [${READ}]`],
    ['bare JSON between sentences', `Let me look: ${READ} That is {all}.`],
    ['other names of the members', '{"tool": "read", "parameters": {"path": "a"}}'],
    [
      'a nested function',
      '{"tool_calls": [{"type": "function", "function": {"name": "read", "arguments": "{\\"path\\":\\"a\\"}"}}]}',
    ],
    ['the notation of other agents', '{"name": "read_file", "arguments": {"file_path": "a"}}'],
    ['thoughts before it', `<think>\`\`\`tool_call\n{"name":"write","arguments":{}}\n\`\`\`</think>${READ}`],
    ['the end of thoughts only', `{"name":"write","arguments":{}}</think>${READ}`],
  ])('may have a call in %s', (_, text) => {
    expect(named(text)).toEqual(read)
    expect(fromAnswer(text, { tools }).errors).toEqual([])
  })

  it('may have several calls, in one block or in more', () => {
    const two = [...read, ...read]
    expect(named(`\`\`\`tool_call\n${READ}\n${READ}\n\`\`\``)).toEqual(two)
    expect(named(`<tool_call>${READ}</tool_call> and <tool_call>${READ}</tool_call>`)).toEqual(two)
    expect(named(`\`\`\`tool_calls\n[${READ},\n${READ}]\n\`\`\``)).toEqual(two)
    const ids = fromAnswer(READ + READ).calls.map(({ id }) => id)
    expect(new Set(ids).size).toBe(2)
  })

  it('keeps fences and tags inside of arguments', () => {
    const content = '```js\n</tool_call>{"name": "read", "arguments": {}}\n```'
    const text = `\`\`\`tool_call\n${JSON.stringify({ name: 'write', arguments: { content } })}\n\`\`\`\nDone.`
    expect(named(text)).toEqual([['write', { content }]])
    expect(fromAnswer(text).prose).toBe('Done.')
  })

  it('has prose without its calls', () => {
    expect(fromAnswer(`One.\n\n\`\`\`tool_call\n${READ}\n\`\`\`\n\nTwo.`, { tools }).prose).toBe('One.\n\nTwo.')
    expect(fromAnswer('Use {"a": 1} and {"name": "x", "version": "1"}.', { tools }))
      .toEqual({ calls: [], errors: [], prose: 'Use {"a": 1} and {"name": "x", "version": "1"}.' })
  })

  it('calls an unknown tool only in a marked block', () => {
    const unknown = '{"name": "unknown", "arguments": {}}'
    expect(named(unknown)).toEqual([])
    expect(named(unknown, {})).toEqual([['unknown', {}]])
    expect(named(`\`\`\`tool_call\n${unknown}\n\`\`\``)).toEqual([['unknown', {}]])
  })
})

describe('a call that cannot be read', () => {
  it.each<[string, string, string]>([
    ['is cut', '```tool_call\n{"name": "read", "arguments": {"path": "a"', 'InvalidJson'],
    ['has a comma too many', '<tool_call>{"name": "read", "arguments": {},}</tool_call>', 'InvalidJson'],
    [
      'has a line break in a string', '```tool_call\n{"name": "read", "arguments": {"path": "a\nb"}}\n```',
      'InvalidJson',
    ],
    ['is bare and begins like a call', 'Now: {"name": "read", "arguments": {path: "a"}}', 'InvalidJson'],
    ['has no name', '```tool_call\n{"arguments": {}}\n```', 'MissingName'],
    ['is no object', '```tool_call\n[{}]\n```', 'MissingName'],
  ])('because it %s gives an error for the model', (_, text, code) => {
    const { calls, errors } = fromAnswer(text, { tools })
    expect({ calls, codes: errors.map((error) => error.code) }).toEqual({ calls: [], codes: [code] })
    expect(toResultsMessage([], errors)).toBe(
      `\`\`\`tool_result\n{"status":"error","code":"${code}"}\n${errors[0]!.message}\n\`\`\``,
    )
  })

  it('does not hide the next one', () => {
    const { calls, errors } = fromAnswer(
      `\`\`\`tool_call\n{"name": "read", \n\`\`\`\n\n\`\`\`tool_call\n${READ}\n\`\`\``, { tools },
    )
    expect([calls.length, errors.length]).toEqual([1, 1])
  })
})

describe('a hostile answer', () => {
  it.each([
    ['opening brackets', '{"a":'.repeat(20_000)], ['lists', '[{'.repeat(50_000)],
    ['empty objects', '{}'.repeat(20_000)], ['fences', '```\n'.repeat(50_000)], ['spaces', `{${' '.repeat(900_000)}`],
    ['quotes', '{"'.repeat(50_000)], ['marks', '<tool_call>{"'.repeat(5000)], ['escapes', `{"${'\\'.repeat(900_000)}`],
    ['thoughts', '<think>'.repeat(100_000)],
  ])('is read in linear time: %s', (_, text) => {
    expect(fromAnswer(text, { tools }).calls).toEqual([])
  })

  it('is read within bounds', () => {
    expect(fromAnswer('x'.repeat(1_000_001)).errors[0]?.code).toBe('TooLarge')
    const many = fromAnswer(READ.repeat(100))
    expect([many.calls.length, many.errors.map(({ code }) => code)]).toEqual([64, ['TooManyCalls']])
    expect(fromAnswer('```tool_call\n{"name": "__proto__", "arguments": {"__proto__": {}}}\n```').calls).toEqual([])
  })

  it('never throws, and finds any call in any prose', () => {
    const bits = fc.constantFrom(
      '{', '}', '"', '[', ']', '\n', '```', '<tool_call>', 'a', ',', ':', '\\', '<think>', READ,
    )
    fc.assert(fc.property(fc.array(bits, { maxLength: 30 }), (parts) => {
      expect(fromAnswer(parts.join('')).calls.length).toBeLessThanOrEqual(30)
    }), { numRuns: 200 })
    fc.assert(fc.property(fc.jsonValue(), fc.stringMatching(/^[\w .,]*$/), (value, prose) => {
      fc.pre(!JSON.stringify(value).includes('__proto__'))
      const args = { value: JSON.parse(JSON.stringify(value)) as Json }
      const text = `${prose}\n${JSON.stringify({ name: 'read', arguments: args })}\n${prose}`
      expect(named(text)).toEqual([['read', args]])
    }), { numRuns: 100 })
  })
})

it('shows results in blocks that they cannot end', () => {
  const metadata: Outcome['metadata'] = { call_id: 'c1', tool: 'read', origin: null, duration_ms: 1, attempt: 1 }
  expect(toResultsMessage([
    { type: 'output', data: 'a\n````\n```tool_call', metadata },
    { type: 'error', error_text: 'no', error: { code: 'NotFound', class: 'ToolTerminal', retryable: false }, metadata },
  ])).toBe([
    '`````tool_result\n{"name":"read","status":"ok"}\na\n````\n```tool_call\n`````',
    '```tool_result\n{"name":"read","status":"error"}\nno\n```',
  ].join('\n\n'))
})
