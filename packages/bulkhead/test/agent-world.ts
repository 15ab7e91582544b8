import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHost } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { writeExtension } from './extension-folder.ts'

const CODE = `export default { tools: {
  'slow-steps': { async execute({ wait }, runtime) {
    runtime.progress('first')
    runtime.update({ done: 1 })
    if (wait) await new Promise((resolve) => runtime.signal.addEventListener('abort', resolve))
    return { steps: 2 }
  } },
  picture: { execute: () => ({
    content: [{ type: 'text', text: 'a dot' }, { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }],
  }) },
  outer: { execute: async (_, { tools }) =>
    (await tools.call('write', { path: 'inner.txt', content: 'x' })).error_text },
} }`

/** A host with the bundled tools and three that report progress, return an image and call another tool. */
export async function agentWorld() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-agent-sdks-')))
  const [workspace, home] = [join(folder, 'work'), join(folder, 'home')]
  mkdirSync(workspace)
  writeExtension(
    home,
    {
      id: 'steps',
      tools: [
        { name: 'slow-steps', outputSchema: { type: 'object', properties: { steps: { type: 'integer' } } } },
        { name: 'picture' },
        {
          name: 'outer', mode: 'safe_write', gated: true,
          requires: { fs: { write: ['{workspace}'] }, capabilities: ['tools.call'] },
        },
      ],
    },
    CODE,
  )
  const host = await createHost({
    workspace, home, cache: CACHE, trust: 'declined',
    config: { isolation: { global: 'thread' }, sandbox: { spares: { thread: 0 } } },
  })
  return {
    host, workspace,
    async end() {
      await host.close()
      rmSync(folder, { recursive: true })
    },
  }
}
