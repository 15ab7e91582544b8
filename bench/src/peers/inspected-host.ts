import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { listen } from '@bulkhead/inspector'
import { createHost, createInspector, defineTool } from 'bulkhead'

// A host with an inspector, in the folder that is named. Sends the link of the page, and for each message { ms, perSecond } makes calls for as long, so
// that it emits so many events a second. Then it sends how many there were.

const folder = process.argv[2]!
const host = await createHost({ workspace: folder, home: join(folder, 'home') })
await host.register(defineTool({
  name: 'tick', description: 'Does nothing.', mode: 'read', gated: false,
  input: { type: 'object', properties: { path: { type: 'string' } } },
  execute: () => 1,
}))
const inspector = await createInspector(host)
const { url } = await listen((request) => inspector.fetch(request), { port: 0 })

let events = 0
host.on(() => void events++)
const session = await host.openSession()
let calls = 0
const call = () => session.call({ id: `c${calls++}`, name: 'tick', arguments: { path: `src/file-${calls % 97}.ts` } })

process.on('message', async ({ ms, perSecond }: { ms: number; perSecond: number }) => {
  const before = events
  const begin = performance.now()
  for (let passed = 0; passed < ms; passed = performance.now() - begin) {
    const missing = passed / 1_000 * perSecond - (events - before)
    // A call emits four events.
    await Promise.all(Array.from({ length: Math.max(0, Math.ceil(missing / 4)) }, call))
    await pause(4)
  }
  process.send!({ events: events - before, ms: performance.now() - begin })
})
process.send!({ link: inspector.link(url) })
