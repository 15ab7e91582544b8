import { join } from 'node:path'
import { writeExtension } from '../extension-folder.ts'

const NAMED = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const
const COUNT = `async execute(_, runtime) {
      const count = (await runtime.state.read())?.count ?? 0
      await runtime.state.write({ count: count + 1 })
      return { count: count + 1 }
    }`
const SLOT = { slotVersion: '1', schema: { type: 'object', properties: { count: { type: 'integer' } } } } as const

/**
 * What the fixture installs: extensions whose lock entries and approvals use every kind of requirement. Returns their
 * folders.
 */
export function writeSources(folder: string): {
  readonly harbour: string
  readonly buoy: string
  readonly deck: string
} {
  const harbour = writeExtension(
    folder,
    {
      id: 'harbour', stateSlot: SLOT, env: ['HARBOUR_NAME'],
      secrets: [{ name: 'HARBOUR_KEY', hosts: ['tides.example'] }],
      tools: [
        { name: 'count' }, { name: 'greet', gated: true, approvalKey: '{name}', inputSchema: NAMED },
        { name: 'relay', gated: true, inputSchema: NAMED, requires: { capabilities: ['tools.call'] } },
        { name: 'plan', requires: { capabilities: ['interact'] } }, { name: 'hang' }, { name: 'fail' },
        {
          name: 'tides', mode: 'external', gated: true, outputSchema: { type: 'object' },
          requires: {
            net: { hosts: ['tides.example', '*.tides.example:8443'] },
            fs: { read: ['{workspace}'], write: ['{workspace}/out'] },
            shell: [{ cmd: 'git', args: ['log', { prefix: '--' }, { rest: true }] }],
          },
        },
      ],
    },
    `export default { tools: {
    count: { ${COUNT} },
    greet: { execute: ({ name }) => 'hello ' + name },
    relay: { execute: async ({ name }, runtime) => (await runtime.tools.call('greet', { name })).data },
    plan: { async execute(_, runtime) {
      const harbour = await runtime.interact.ask('Which harbour?')
      const ship = await runtime.interact.select('Which ship?', [{ label: 'Fram' }, { label: 'Gjoa' }])
      return { harbour, ship, sure: await runtime.interact.confirm('Is that right?') }
    } },
    hang: { execute: () => new Promise(() => {}) },
    fail: { execute: () => { throw new Error('no tide today') } },
    tides: { execute: () => ({}) },
  } }`,
  )
  const buoy = writeExtension(
    folder, { id: 'buoy', tools: [{ name: 'ring' }] }, `export default { tools: { ring: { execute: () => 'ding' } } }`,
  )
  const deck = writeExtension(
    folder, { id: 'deck', tools: [{ name: 'swab' }] }, `export default { tools: { swab: { execute: () => 'clean' } } }`,
  )
  return { harbour, buoy, deck }
}

/** The extension that a project brings itself. */
export function writeProject(workspace: string): void {
  writeExtension(join(workspace, '.bulkhead'), { id: 'own', stateSlot: SLOT, tools: [{ name: 'own_count' }] },
    `export default { tools: { own_count: { ${COUNT} } } }`)
}
