/** Runs in a child process with Node's permission model: loads folders on request and reports all file accesses. */
import diagnosticsChannel from 'node:diagnostics_channel'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { Diagnostic, ManifestInput, ProjectTrust, TrustStatus } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'

export interface ConfinedRequest {
  readonly global: string | null
  readonly workspace: string
  readonly trust: ProjectTrust
  readonly trustRoot?: Json
  /** Manifests of bundled extensions. */
  readonly bundled?: readonly ManifestInput[]
}
export interface ConfinedReport {
  readonly loaded: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
  readonly hasProjectLayer: boolean
  readonly status: TrustStatus['kind']
  /** Function and path of each call to node:fs. */
  readonly calls: readonly (readonly [string, string])[]
  /** Accesses that Node denied, also if the error was caught. */
  readonly denials: readonly string[]
}

const calls: [string, string][] = []
const denials: string[] = []
for (const kind of ['fs', 'child', 'worker', 'net', 'addon', 'wasi', 'inspector', 'ffi']) {
  diagnosticsChannel.subscribe(
    `node:permission-model:${kind}`, (message) => denials.push(`${kind} ${JSON.stringify(message)}`),
  )
}

/** Records calls, and passes them on to the real functions. */
function record(holder: object): void {
  for (const [name, value] of Object.entries(holder)) {
    if (typeof value !== 'function' || /^[A-Z_]/.test(name)) continue
    const original = value as (...args: unknown[]) => unknown
    Object.assign(holder, {
      [name]: Object.assign(function (this: unknown, ...args: unknown[]) {
        if (typeof args[0] === 'string' || args[0] instanceof URL || args[0] instanceof Uint8Array) calls.push(
          [name, String(args[0])],
        )
        return original.apply(this, args)
      }, original),
    })
  }
}
record(fs)
record(fs.promises)
syncBuiltinESMExports()

const { createLoader, schemaThread } = await import('../../src/index.ts')
// Piscina is read with the first thread, by functions that are recorded. Only accesses of loads count.
await schemaThread.load().catch(() => undefined)
denials.length = 0

process.on('message', (request: ConfinedRequest) => {
  void (async () => {
    const { global, trustRoot, bundled = [] } = request
    const loader = createLoader({
      coreVersion: '1.0.0', roots: { global },
      bundled: bundled.map((manifest) => ({ manifest, module: { tools: {} } })),
      ...(trustRoot !== undefined && { trustRoot }),
    })
    calls.length = 0
    const hasProjectLayer = await loader.hasProjectLayer(request.workspace)
    const { status } = await loader.trust.status(request.workspace)
    const { extensions, diagnostics } = await loader.load({
      workspace: request.workspace, trust: request.trust, projectDigest: 'any',
    })
    const report: ConfinedReport = {
      loaded: extensions.map(({ id }) => id), diagnostics, hasProjectLayer, status: status.kind, calls, denials,
    }
    process.send!(report)
    denials.length = 0
  })()
})
process.send!('ready')
