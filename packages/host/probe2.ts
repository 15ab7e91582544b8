import { createWorld } from './test/twin/world.ts'
import { createHost } from './src/index.ts'
import { sketchExtension } from './test/twin/world.ts'
import { MemoryStore } from './test/twin/store.ts'
const { descriptor } = sketchExtension({ tools: { echo: { inputSchema: { type: 'object', additionalProperties: false, required: ['city'], properties: { city: { type: 'string' }, n: { type: 'integer' } } } } } })
const ended = new Promise<never>(() => {})
const sandbox = { async open() { return { id: 'x', placement: 'thread', offers: { phases: new Set(), approvalKeys: new Set() }, lifecycle: async () => {}, call: async (i: any) => i.args, deriveApprovalKey: async () => 'k', inFlight: 0, ended, close: async () => {} } as any }, async close() {} }
const host = createHost({ report: { config: { merged: {}, layers: [] }, extensions: [descriptor], diagnostics: [] }, sandbox, store: new MemoryStore(), workspace: '/w', userData: '/d', env: () => undefined })
const session = await host.openSession({ approver: { approve: async () => ({ decision: 'session' }) } })
const args = { city: 'Oslo', n: 3 }
async function lap(n: number) { const t = performance.now(); for (let i = 0; i < n; i++) { const o = await session.call({ id: 'c' + i, name: 'echo', arguments: args }); if (o.type !== 'output') throw new Error(JSON.stringify(o)) } return (performance.now() - t) * 1000 / n }
for (let i = 0; i < 6; i++) console.log('sequential µs/call', (await lap(20000)).toFixed(2))
const off = host.on(() => {})
for (let i = 0; i < 2; i++) console.log('with a listener', (await lap(20000)).toFixed(2))
off()
const t = performance.now(); const N = 64 * 400; for (let r = 0; r < 400; r++) await Promise.all(Array.from({ length: 64 }, (_, i) => session.call({ id: 'd' + i, name: 'echo', arguments: args }))); console.log('64-way calls/s', Math.round(N / (performance.now() - t) * 1000))
void createWorld
