import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { serveTools } from '@bulkhead/bridges/mcp'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { writeExtension } from '../extension-folder.ts'
import { clientOf, ERAS, servedWorld, type Era, type ServedWorld } from './served-world.ts'

const MEDIA = [
  { type: 'text', text: 'a' },
  { type: 'image', data: 'AAAA', mimeType: 'image/png' },
  { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
  { type: 'resource', resource: { uri: 'test://text', mimeType: 'text/csv', text: 'a,b' } },
  { type: 'resource', resource: { uri: 'test://bytes', blob: 'AAAA' } },
  { type: 'resource_link', uri: 'test://link', name: 'link', title: 'Link' },
]
const CODE = `export default { tools: {
  media: { execute: () => ({ content: ${JSON.stringify(MEDIA)} }) },
  chatty: { async execute(_, runtime) {
    runtime.log.debug('small')
    runtime.log.info('first')
    runtime.log.warn('second')
    for (const progress of [0, 50, 100]) {
      runtime.update({ progress, total: 100 })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return 'done'
  } },
} }`
const LEVEL = 'io.modelcontextprotocol/logLevel'

let home: string
let world: ServedWorld
beforeAll(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-content-')))
  writeExtension(home, { id: 'media', tools: [{ name: 'media' }, { name: 'chatty' }] }, CODE)
  world = await servedWorld({ home })
})
afterAll(async () => {
  await world.end()
  rmSync(home, { recursive: true })
})

/** A client with its own session at the one host. */
async function connect(era: Era): Promise<Client> {
  const [here, there] = InMemoryTransport.createLinkedPair()
  const { host } = world
  const serving = await serveTools(host, {
    info: { name: 'bulkhead', version: '1.0.0' }, transport: here,
    openSession: (interactor) => host.openSession({ interactor }),
  })
  onTestFinished(() => serving.close())
  const client = clientOf(era)
  await client.connect(there)
  return client
}

describe.each(ERAS)('a client of the %s era', (era) => {
  it('gets every kind of content, and what the tools of its calls log', async () => {
    const client = await connect(era)
    expect((await client.callTool({ name: 'media', arguments: {} })).content).toEqual(MEDIA)

    const lines: unknown[] = []
    client.setNotificationHandler('notifications/message', ({ params: { level, logger, data } }) => void lines.push([level, logger, data]))
    const progress: unknown[] = []
    const onprogress = (one: object) => void progress.push(one)
    const chatty = (_meta = {}) => client.callTool({ name: 'chatty', arguments: {}, _meta }, { onprogress })
    if (era === 'legacy') await client.setLoggingLevel('info')
    await chatty(era === 'legacy' ? {} : { [LEVEL]: 'info' })
    expect(lines).toEqual([['info', 'chatty', 'first'], ['warning', 'chatty', 'second']])
    expect(progress).toEqual([0, 50, 100].map((at) => ({ progress: at, total: 100 })))

    // In the newer era a request without a level gets no log.
    lines.length = 0
    if (era === 'legacy') await client.setLoggingLevel('warning')
    await chatty()
    expect(lines).toEqual(era === 'legacy' ? [['warning', 'chatty', 'second']] : [])
  })
})
