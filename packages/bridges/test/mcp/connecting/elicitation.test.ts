import { BulkheadError, type Interact } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { Elicitation, type ElicitationRequest } from '../../../src/mcp/connecting/elicitation.ts'

const person: Interact = {
  ask: async (prompt) => prompt.includes('age') ? ' 42 ' : 'Ada',
  confirm: async () => true,
  select: async (_prompt, options) => options.at(-1)!.label,
  selectMany: async () => [],
  form: async () => ({}), deviceCode: async () => undefined,
  password: async () => '',
}
const form = (properties: object, more: object = {}): ElicitationRequest =>
  ({ message: 'Who?', requestedSchema: { type: 'object', properties }, ...more })
const ask = (request: ElicitationRequest, interact: Interact | undefined = person) => {
  const elicitation = new Elicitation()
  return elicitation.during(interact, () => elicitation.answer('ship', request))
}

it('asks for each field by its type', async () => {
  expect(await ask(form({
    name: { type: 'string' }, age: { type: 'integer' }, well: { type: 'boolean' },
    port: { type: 'string', enum: ['a', 'b'] }, berth: { oneOf: [{ const: 'n', title: 'North' }, { const: 's' }] },
  }))).toEqual({ action: 'accept', content: { name: 'Ada', age: 42, well: true, port: 'b', berth: 's' } })
  expect(await ask(form({}))).toEqual({ action: 'accept', content: {} })
})

it('offers the options of every enum notation', async () => {
  const offered: unknown[] = []
  const chooses: Interact = {
    ...person,
    select: async (_prompt, options) => (offered.push(options), options[0]!.label),
    selectMany: async (_prompt, options) => (offered.push(options), options.map(({ label }) => label)),
  }
  const titled = [{ const: 'n', title: 'North' }, { const: 's', title: 's' }]
  expect(await ask(form({
    one: { type: 'string', oneOf: titled }, old: { type: 'string', enum: ['a', 'b'], enumNames: ['A'] },
    many: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
    more: { type: 'array', items: { anyOf: titled } },
  }), chooses)).toEqual({ action: 'accept', content: { one: 'n', old: 'a', many: ['a', 'b'], more: ['n', 's'] } })
  const directions = [{ label: 'n', description: 'North' }, { label: 's' }]
  expect(offered).toEqual([
    directions, [{ label: 'a', description: 'A' }, { label: 'b' }], [{ label: 'a' }, { label: 'b' }], directions,
  ])
})

it('uses defaults for empty answers, and omits optional fields', async () => {
  const prompts: string[] = []
  const silent: Interact = { ...person, ask: async (prompt) => (prompts.push(prompt.split('\n')[1]!), '') }
  const asked = {
    name: { type: 'string', default: 'Ada' }, age: { type: 'integer', default: 42 }, nick: { type: 'string' },
    size: { type: 'number' },
  }
  expect(await ask(form(asked), silent)).toEqual({ action: 'accept', content: { name: 'Ada', age: 42 } })
  expect(prompts).toEqual(['name; suggested: Ada', 'age; suggested: 42', 'nick', 'size'])
  const must = (name: string) =>
    ask({ message: 'Who?', requestedSchema: { type: 'object', properties: asked, required: [name] } }, silent)
  expect(await must('nick')).toEqual({ action: 'accept', content: { name: 'Ada', age: 42, nick: '' } })
  expect(await must('size')).toEqual({ action: 'decline' })
})

it.each<[string, ElicitationRequest]>([
  ['a URL', { ...form({}), mode: 'url' }],
  ['no form', { message: 'Who?' }],
  ['a nested form', form({ who: { type: 'object' } })],
  ['a list without options', form({ who: { type: 'array', items: { type: 'string' } } })],
  ['a field with a large schema', form({ who: { type: 'string', description: 'x'.repeat(17_000) } })],
  [
    'too many fields',
    form(Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`f${index}`, { type: 'string' }]))),
  ],
])('declines %s', async (_what, request) => {
  expect(await ask(request)).toEqual({ action: 'decline' })
})

it('declines if the user declines, cannot be asked, or gives an invalid number', async () => {
  const refuses = { ...person, ask: () => Promise.reject(new BulkheadError('ApprovalDenied', 'no')) }
  expect(await ask(form({ name: { type: 'string' } }), refuses)).toEqual({ action: 'decline' })
  expect(await ask(form({ name: { type: 'number' } }))).toEqual({ action: 'decline' })
  expect(await ask(form({ size: { type: 'integer' } }), { ...person, ask: async () => '3.5' })).toEqual({
    action: 'decline',
  })
  const elicitation = new Elicitation()
  expect(await elicitation.answer('ship', form({}))).toEqual({ action: 'decline' })
})

it('declines if several calls run and the call is unknown', async () => {
  const elicitation = new Elicitation()
  const over = Promise.withResolvers<void>()
  const calls = [1, 2].map(() => elicitation.during(person, () => over.promise))
  expect(await elicitation.answer('ship', form({}))).toEqual({ action: 'decline' })
  over.resolve()
  await Promise.all(calls)
})

it('escapes invisible characters in the text of a server', async () => {
  const prompts: string[] = []
  await ask({ ...form({ name: { type: 'string', description: 'your\u202ename' } }), message: 'Who\u200b?' }, {
    ...person,
    ask: async (prompt) => {
      prompts.push(prompt)
      return ''
    },
  })
  expect(prompts).toEqual(['The MCP server "ship" asks: Who\\u{200b}?\nname (your\\u{202e}name)'])
})

const answering = (...answers: readonly string[]) => {
  const prompts: string[] = []
  const interact: Interact = {
    ...person, ask: async (prompt) => (prompts.push(prompt), answers[prompts.length - 1] ?? answers.at(-1)!),
  }
  return { interact, prompts }
}

it.each<[object, string, string, unknown]>([
  [{ type: 'string', minLength: 3 }, 'ab', 'abc', 'abc'], [{ type: 'string', maxLength: 2 }, 'abc', 'ab', 'ab'],
  [{ type: 'integer', minimum: 1, maximum: 9 }, '10', '9', 9],
  [{ type: 'number', exclusiveMinimum: 0 }, '0', '0.5', 0.5], [{ type: 'integer' }, '3.5', '3', 3],
  [{ type: 'string', format: 'email' }, 'ada', 'ada@example.com', 'ada@example.com'],
  [{ type: 'string', format: 'uri' }, 'example', 'https://example.com', 'https://example.com'],
  [{ type: 'string', format: 'date' }, '2026-02-30', '2026-02-28', '2026-02-28'],
  [{ type: 'string', format: 'date-time' }, '2026-02-28', '2026-02-28T10:00:00Z', '2026-02-28T10:00:00Z'],
])('checks an answer against %j, and asks again with the reason', async (schema, wrong, right, sent) => {
  const { interact, prompts } = answering(wrong, right)
  expect(await ask(form({ field: schema }), interact)).toEqual({ action: 'accept', content: { field: sent } })
  expect(prompts).toHaveLength(2)
  expect(prompts[1]).toContain('The last answer is not accepted: it must')
})

it('declines if no answer is valid', async () => {
  const { interact, prompts } = answering('x')
  expect(await ask(form({ field: { type: 'string', minLength: 3 } }), interact)).toEqual({ action: 'decline' })
  expect(prompts).toHaveLength(3)
  const all: Interact = { ...person, selectMany: async (_prompt, options) => options.map(({ label }) => label) }
  expect(await ask(form({ many: { type: 'array', maxItems: 1, items: { enum: ['a', 'b'] } } }), all)).toEqual({
    action: 'decline',
  })
})
