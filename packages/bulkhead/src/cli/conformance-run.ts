import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  conform, createRecorder, unusedPowers, type CheckResult, type SuiteOptions, type UnusedPowers,
} from '@bulkhead/conformance'
import type { ExtensionDescriptor } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { createSandbox } from '@bulkhead/sandbox'
import { temporaryFolder } from './write-file.ts'

export interface RunOptions extends SuiteOptions {
  readonly extension: ExtensionDescriptor
  /** What the loader warned about. */
  readonly warnings: readonly string[]
  readonly config: JsonObject
  /** Tools reach real hosts, run real commands, and get the real values of their variables and secrets. */
  readonly live: boolean
}

export interface SuiteRun {
  readonly results: readonly CheckResult[]
  readonly unused: UnusedPowers
}

/** Files that many tools look for. */
const WORKSPACE = { 'README.md': '# A workspace\n\nFor the suite.\n', 'data.json': '{ "items": [1, 2, 3] }\n' }

/** Runs the suite in a temporary folder, so that tools cannot read the files of the publisher. */
export async function runSuite({ extension, warnings, config, live, ...options }: RunOptions): Promise<SuiteRun> {
  await using opened = new AsyncDisposableStack()
  const workspace = temporaryFolder('bulkhead-conformance-')
  opened.defer(() => rmSync(workspace, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(WORKSPACE)) writeFileSync(join(workspace, name), text)
  const recorder = await createRecorder()
  opened.defer(() => recorder.close())
  const { dryRun } = recorder
  const sandbox = createSandbox({ workspace, ...(live ? { onUse: (use) => dryRun.used(use) } : { dryRun }) })
  opened.defer(() => sandbox.close())
  const { deliverOverMcp: overMcp } = await import('@bulkhead/bridges/mcp')
  const target = {
    extension, warnings, sandbox, workspace, recorder, overMcp, config, ...(live && { values: process.env }),
  }
  const results = await conform(target, options)
  return { results, unused: unusedPowers(target) }
}
