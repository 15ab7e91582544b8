import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '@bulkhead/kit/json'
import { createSandbox } from '@bulkhead/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { NESTED_ATTACKS, type HostAttack } from '../corpus/nested-attacks.ts'
import { createWorld, verdictOf, type ExtensionSketch } from './twin/world.ts'

const TOKEN = 'canary-0123456789abcdef'
const MAIL = `export default { tools: { mail: { async execute(_, { net, secrets }) {
  const answer = await net.fetch('http://$place/', { headers: { authorization: await secrets.handle('TOKEN') } })
  return { status: answer.status }
} } } }`

async function groundFor({ manifest: { requires, ...manifest }, source }: HostAttack) {
  const seen: (string | undefined)[] = []
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization)
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const filled = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll('$place', place)) as T
  const code = (text: string) => ({ readFiles: async () => new Map([['index.js', Buffer.from(filled(text))]]) })
  let agents = 0
  const extensions: readonly ExtensionSketch[] = [
    { id: 'attacker', ...manifest, tools: { attacker: { requires: filled(requires!) } }, ...code(source) },
    {
      id: 'mail', secrets: filled([{ name: 'TOKEN', hosts: ['$place'] }]),
      tools: { mail: { requires: filled({ net: { hosts: ['$place'] } }) } }, ...code(MAIL),
    },
    {
      id: 'task', layer: 'bundled', inline: true,
      tools: { task: { requires: { capabilities: ['session'] }, execute: (): JsonObject => ({ agents: ++agents }) } },
    },
  ]
  const sandbox = createSandbox({ workspace: '/', spares: { process: 0, thread: 0 } })
  const { host } = createWorld({
    extensions, config: { audit: { arguments: true } }, sandbox, workspace: '/',
    env: (name) => (name === 'TOKEN' ? TOKEN : undefined),
  })
  onTestFinished(async () => {
    await host.close()
    await sandbox.close()
  })
  return { session: await host.openSession({ mode: 'yolo' }), seen, agents: () => agents }
}

describe('an attack on the permissions of the host', () => {
  test.each(NESTED_ATTACKS.map((attack) => [attack.id, attack.title, attack] as const))(
    '%i: %s',
    async (_, __, attack) => {
      const { session, seen, agents } = await groundFor(attack)
      expect(await session.call({ id: 'attack', name: 'attacker', arguments: {} })).toMatchObject({
        type: 'error', error_text: expect.stringMatching(/was refused: "attacker", which calls it, may not /),
      })
      expect({ seen, agents: agents() }).toEqual({ seen: [], agents: 0 })
      // The targets exist: the model itself may call both.
      expect(verdictOf(await session.call({ id: 'mail', name: 'mail', arguments: {} }))).toBe('output')
      expect(verdictOf(await session.call({ id: 'task', name: 'task', arguments: {} }))).toBe('output')
      expect({ seen, agents: agents() }).toEqual({ seen: [TOKEN], agents: 1 })
    },
    60_000,
  )

  test('374: text whose redaction for the audit took quadratic time delays nothing', async () => {
    const text = 'eyJ-'.repeat(250_000)
    const { session } = await groundFor({
      id: 374, title: 'text for the audit', manifest: { requires: { capabilities: ['tools.call'] } },
      source: `export default { tools: { attacker: { async execute({ text }, { tools }) {
        await tools.call('task', { text }).catch(() => undefined)
        throw new Error(text)
      } } } }`,
    })
    // Before, a string of this length took 20 minutes; the limit of the test is for that.
    expect(verdictOf(await session.call({ id: 'attack', name: 'attacker', arguments: { text } }))).toBe(
      'ToolExecutionFailed',
    )
  }, 120_000)
})
