import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listen } from '@bulkhead/inspector'
import { createHost, createInspector, type CreateHostOptions, defineTool, openSqliteStore } from '../../src/index.ts'
import type { InspectorOptions } from '../../src/facade/inspector/create-inspector.ts'
import { CACHE } from '../cache.ts'
import { signIn } from './client.ts'

/** A host in a folder of its own, and an inspector of it on loopback. `await using` ends both. */
export async function openWorld(
  options: InspectorOptions & { readonly stored?: boolean; readonly host?: Partial<CreateHostOptions> } = {},
) {
  const { stored = false, host: more = {}, ...ofInspector } = options
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-inspector-'))
  const store = stored ? { store: await openSqliteStore({ file: join(folder, 'host.db') }) } : {}
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, ...store, ...more })
  await host.register([
    defineTool({
      name: 'greet', description: 'Greets.', mode: 'read', gated: false, requires: {},
      input: { type: 'object', properties: { name: { type: 'string' } }, additionalProperties: false },
      execute: ({ name = 'you' }) => ({ text: `hello ${String(name)}` }),
    }),
    defineTool({
      name: 'order', description: 'Orders.', mode: 'external', gated: true, requires: {},
      input: {
        type: 'object', additionalProperties: false,
        properties: { what: { type: 'string' }, servings: { type: 'integer', title: 'Servings' } },
      },
      execute: ({ what }) => ({ ordered: String(what) }),
    }),
  ])
  const inspector = await createInspector(host, ofInspector)
  const listening = await listen((request) => inspector.fetch(request), { port: 0 })
  return {
    folder, host, inspector, url: listening.url, ...store,
    client: () => signIn(inspector.link(listening.url)),
    async [Symbol.asyncDispose]() {
      inspector.close()
      await listening.close()
      await host.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
