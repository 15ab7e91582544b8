/** A host of its own for a test: prints what each call of a tool made its main thread load. The first call is a stranger's. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/contract'
import { writeExtension } from './extension-folder.ts'

const loaded: string[] = []
registerHooks({
  load(url, context, next) {
    if (!url.startsWith('node:')) loaded.push(url)
    return next(url, context)
  },
})
const { createHost, createTerminalInteractor } = await import('../src/index.ts')

const [root = '', mcpServer = ''] = process.argv.slice(2)
const server = createServer((request, response) => {
  response.setHeader('content-type', request.url === '/pdf' ? 'application/pdf' : 'text/html').end('<p>hello</p>')
})
await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
const origin = `127.0.0.1:${(server.address() as AddressInfo).port}`

mkdirSync(join(root, 'workspace/.agents/skills/one'), { recursive: true })
writeFileSync(join(root, 'workspace/a.txt'), 'hello')
const requires = { fs: { read: ['**'], write: ['**'] }, net: { hosts: [origin] }, shell: [{ cmd: 'ls' }] }
const inputSchema = { type: 'object', properties: { email: { type: 'string', format: 'email', pattern: '^a+' } } }
writeExtension(join(root, 'home'), { id: 'stranger', tools: [{ name: 'first' }, { name: 'power', requires, inputSchema }] }, `export default { tools: {
  first: { execute: () => null },
  power: { execute: ({ what }, { fs, net, shell }) => ({
    search: () => fs.search('hello'), find: () => fs.find('**'), fetch: async () => (await net.fetch('http://${origin}/')).text(),
    run: () => shell.run('ls', []), edit: () => fs.edit('a.txt', 'hello', 'bye'), nothing: () => null,
  })[what]() },
} }`)
writeExtension(join(root, 'home'), { id: 'threaded', tools: [{ name: 'in_thread' }] }, 'export default { tools: { in_thread: { execute: () => null } } }')

const host = await createHost({
  workspace: join(root, 'workspace'), home: join(root, 'home'), fetchHosts: [origin], discover: 'when-asked', interactor: createTerminalInteractor(),
  config: { extensions: { threaded: { isolation: 'thread' } }, mcp: { ship: { type: 'local', command: [process.execPath, mcpServer, join(root, 'notes')] } } },
})
const session = await host.openSession({ mode: 'yolo' })
const told: Record<string, readonly string[]> = {}
const note = async (name: string, work: () => Promise<unknown>): Promise<void> => {
  const before = loaded.length
  await work()
  told[name] = loaded.slice(before).map((url) => url.replace(/^.*\/node_modules\//, ''))
}
const call = (name: string, args: JsonObject = {}): Promise<void> =>
  note(`${name} ${JSON.stringify(args).replaceAll(origin, 'host')}`, () => session.call({ id: crypto.randomUUID(), name, arguments: args }))

await call('first')
for (const what of ['search', 'find', 'fetch', 'run', 'edit']) await call('power', { what })
await call('power', { what: 'nothing', email: 'a@example.com' })
await call('in_thread')
await call('web_fetch', { url: `http://${origin}/` })
await call('web_fetch', { url: `http://${origin}/pdf` })
await call('read', { path: 'a.txt' })
await call('grep', { pattern: 'b' })
await call('bash', { command: 'ls | cat' })
await call('bash', { command: 'for i in 1; do echo $i; done' })
await call('skill', { name: 'one' })
await note('mcp', () => host.mcp.connect())
await host.close()
server.close()
process.stdout.write(JSON.stringify(told))
