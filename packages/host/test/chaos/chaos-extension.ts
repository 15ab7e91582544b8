import type { ExtensionModule, Placement } from '@bulkhead/contract'
import { sketchExtension } from '../twin/world.ts'

/** The tools of the scenarios. Self-contained code, because it runs elsewhere. */
const CODE = `
const failed = new Set()
const untilAborted = (signal) => new Promise((_, reject) => {
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
})
export default {
  init() {},
  activate() {},
  deactivate() {},
  dispose() {},
  tools: {
    echo: { execute: (args) => args, deriveApprovalKey: ({ key }) => key ?? 'echo' },
    open: { execute: () => 'open' },
    long: { async execute(_, runtime) {
      const count = (await runtime.state.read() ?? 0) + 1
      await runtime.state.write(count)
      return { count, text: 'x'.repeat(2000) }
    } },
    busy: { execute({ token }) {
      if (failed.has(token)) return 'done'
      failed.add(token)
      throw Object.assign(new Error('busy'), { code: 'ResourceBusy' })
    } },
    wait: { execute(_, runtime) {
      runtime.progress('waits')
      return untilAborted(runtime.signal)
    } },
    outer: { async execute(_, runtime) {
      const inner = await runtime.tools.call('open', {})
      return inner.type
    } },
    wonder: { execute: (_, runtime) => runtime.interact.ask('Which harbour?') },
  },
}`

const reads = { fs: { read: ['{workspace}'] } }

/** As bytes for threads and processes, as a module for the thread of the host. */
export async function chaosExtension(placement: Placement, version: number) {
  const bytes = new TextEncoder().encode(CODE)
  const { descriptor } = sketchExtension({
    id: 'chaos', version: `${version}.0.0`, main: './index.js',
    stateSlot: { slotVersion: '1', schema: { type: 'integer' } },
    tools: {
      echo: { gated: true },
      open: { gated: false, mode: 'read', requires: {} },
      long: { gated: true, maxOutput: '1KB' },
      busy: { gated: false, mode: 'read' },
      wait: { gated: false, mode: 'read' },
      outer: { gated: false, mode: 'external', requires: { ...reads, capabilities: ['tools.call'] } },
      wonder: { gated: false, mode: 'safe_write', requires: { capabilities: ['interact'] } },
    },
    readFiles: async () => new Map([['index.js', bytes]]),
  })
  if (placement !== 'inline') return descriptor
  const { default: module } = (await import(`data:text/javascript,${encodeURIComponent(CODE)}`)) as {
    default: ExtensionModule
  }
  return { ...descriptor, code: { kind: 'module', module } as const }
}
