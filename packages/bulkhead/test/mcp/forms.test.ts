import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveTools } from '@bulkhead/bridges/mcp'
import { InMemoryTransport, type ElicitRequestFormParams } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createProgrammaticInteractor } from '../../src/index.ts'
import { writeExtension } from '../extension-folder.ts'
import { clientOf, ERAS, servedWorld, type Era, type Person, type ServedWorld } from './served-world.ts'

const CODE = `
const schema = { type: 'object', required: ['name'], properties: {
  name: { type: 'string', title: 'Na\\u202eme' }, age: { type: 'integer', default: 30 },
  size: { type: 'string', oneOf: [{ const: 's', title: 'Small' }] },
  tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, sure: { type: 'boolean' },
} }
export default { tools: {
  fill: { execute: (_, { interact }) => interact.form('Who are you?', schema, { name: 'who' }) },
  nested: { execute: (_, { interact }) =>
    interact.form('Who?', { type: 'object', properties: { a: { type: 'object' } } }) },
} }`

let home: string
let world: ServedWorld
beforeAll(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-forms-')))
  const asks = { mode: 'safe_write' as const, requires: { capabilities: ['interact' as const] } }
  writeExtension(home, { id: 'forms', tools: [{ name: 'fill', ...asks }, { name: 'nested', ...asks }] }, CODE)
  world = await servedWorld({ home })
})
afterAll(async () => {
  await world.end()
  rmSync(home, { recursive: true })
})

async function fill(era: Era, person: Person, name = 'fill') {
  const [here, there] = InMemoryTransport.createLinkedPair()
  const { host } = world
  const serving = await serveTools(host, {
    info: { name: 'bulkhead', version: '1.0.0' }, transport: here,
    openSession: (interactor) => host.openSession({ interactor }),
  })
  onTestFinished(() => serving.close())
  const client = clientOf(era, person)
  await client.connect(there)
  return client.callTool({ name, arguments: {} })
}

describe.each(ERAS)('a form of a tool, for a client of the %s era', (era) => {
  it('is shown whole, and its values reach the tool', async () => {
    const shown: ElicitRequestFormParams[] = []
    const { structuredContent } = await fill(era, (params) => {
      shown.push(params)
      return { action: 'accept', content: { name: 'Ada', age: 36, size: 's', tags: ['b'], sure: true, more: 'x' } }
    })
    expect(structuredContent).toEqual({ name: 'Ada', age: 36, size: 's', tags: ['b'], sure: true })
    expect(shown).toMatchObject([
      {
        message: 'extension forms asks:\n| Who are you?',
        requestedSchema: {
          required: ['name'], properties: { name: { title: 'Na\\u{202e}me' }, age: { type: 'integer', default: 30 } },
        },
      },
    ])
  })

  it('is not filled in with other values', async () => {
    const { isError, content } = await fill(era, () => ({ action: 'accept', content: { name: 'Ada', size: 'xl' } }))
    expect([isError, JSON.stringify(content)]).toEqual([true, expect.stringContaining('invalid answer')])
  })
})

it('a schema that is no form is an error of the tool', async () => {
  const { isError, content } = await fill('modern', () => ({ action: 'decline' }), 'nested')
  expect([isError, JSON.stringify(content)]).toEqual([true, expect.stringContaining('must be a flat object')])
})

it('is asked field by field where no form can be shown', async () => {
  const interactor = createProgrammaticInteractor()
  const asked: string[] = []
  const answers: Record<string, unknown> = { Ask: ['Ada', ''], Select: ['s', ['a']], Confirm: [true] }
  interactor.onQuestion(({ correlationId, request }) => {
    asked.push(`${request.kind} ${'prompt' in request ? request.prompt.split('\n')[1] : ''}`)
    const value = (answers[request.kind] as never[]).shift()!
    queueMicrotask(() => interactor.answer(correlationId, { status: 'accepted', value }))
  })
  const session = await world.host.openSession({ interactor })
  onTestFinished(() => session.close())
  const outcome = await session.call({ id: '1', name: 'fill', arguments: {} })
  expect(outcome).toMatchObject({ type: 'output', data: { name: 'Ada', age: 30, size: 's', tags: ['a'], sure: true } })
  expect(asked).toEqual(['Ask Na\u202eme', 'Ask age [30]', 'Select size', 'Select tags', 'Confirm sure'])
})
