import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  conform, createRecorder, readFixtures, unusedPowers, type CallableExtension, type CheckResult, type SuiteOptions,
  type UnusedPowers,
} from '@bulkhead/conformance'
import type { ExtensionDescriptor } from '@bulkhead/contract'
import { manifestSchema } from '@bulkhead/contract/validation'
import type { JsonObject } from '@bulkhead/kit/json'
import { createSandbox } from '@bulkhead/sandbox'
import { createBundledExtensions } from '@bulkhead/tools-bundled'
import { temporaryFolder, writing } from '../write-file.ts'

export interface RunOptions extends SuiteOptions {
  readonly extension: ExtensionDescriptor
  /** What the loader warned about. */
  readonly warnings: readonly string[]
  readonly config: JsonObject
  /** The files of its folder `fixtures`, by path in it. */
  readonly fixtures: ReadonlyMap<string, Uint8Array>
  /** Tools reach real hosts, run real commands, and get the real values of their variables and secrets. */
  readonly live: boolean
}

export interface SuiteRun {
  readonly results: readonly CheckResult[]
  readonly unused: UnusedPowers
}

/** Files that many tools look for. */
const WORKSPACE = new Map<string, string | Uint8Array>([
  ['README.md', '# A workspace\n\nFor the suite.\n'], ['data.json', '{ "items": [1, 2, 3] }\n'],
])

/**
 * Runs the suite in a temporary folder, so that tools cannot read the files of the publisher. Throws ConfigInvalid for
 * fixtures that cannot be used.
 */
export async function runSuite(
  { extension, warnings, config, fixtures: given, live, ...options }: RunOptions,
): Promise<SuiteRun> {
  const fixtures = readFixtures(given, extension.manifest)
  await using opened = new AsyncDisposableStack()
  const workspace = temporaryFolder('bulkhead-conformance-')
  opened.defer(() => rmSync(workspace, { recursive: true, force: true }))
  const taken = new Set([...fixtures.files.keys()].map((path) => path.split('/', 1)[0]!.toLowerCase()))
  const files = [...WORKSPACE].filter(([path]) => !taken.has(path.toLowerCase()))
  for (const [path, content] of [...files, ...fixtures.files]) writeNew(join(workspace, path), content)
  const recorder = await createRecorder(fixtures)
  opened.defer(() => recorder.close())
  const { dryRun } = recorder
  const sandbox = createSandbox({ workspace, ...(live ? { onUse: (use) => dryRun.used(use) } : { dryRun }) })
  opened.defer(() => sandbox.close())
  const { deliverOverMcp: overMcp } = await import('@bulkhead/bridges/mcp')
  const target = {
    extension, warnings, sandbox, workspace, recorder, overMcp, config, fixtures, findTool: bundledTool,
    ...(live && { values: process.env }),
  }
  const results = await conform(target, options)
  return { results, unused: unusedPowers(target) }
}

/** No tool has run yet, so nothing in the folder is a link. */
function writeNew(path: string, content: string | Uint8Array): void {
  writing(path, () => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content, { flag: 'wx' })
  })
}

/** What they keep belongs to the session, so no tool may call them. */
const OF_MODEL: ReadonlySet<string> = new Set(['todo', 'plan'])

/** A bundled extension, for tools that call others. */
function bundledTool(name: string): CallableExtension | undefined {
  for (const { manifest: given, module } of createBundledExtensions()) {
    if (!given.tools.some((tool) => tool.name === name) || OF_MODEL.has(given.id)) continue
    const manifest = manifestSchema.parse(given)
    return { id: manifest.id, version: manifest.version, layer: 'bundled', manifest, code: { kind: 'module', module } }
  }
  return undefined
}
