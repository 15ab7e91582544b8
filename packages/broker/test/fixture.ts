import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileGrant, type CompartmentTool } from '@bulkhead/contract'
import { requirementSet } from '@bulkhead/contract/validation'
import type { JsonObject } from '@bulkhead/kit/json'
import { onTestFinished } from 'vitest'

/** Removed when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'broker-')))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

export const toolOf = (name: string, requires: JsonObject = {}, workspace = '/'): CompartmentTool => ({
  name,
  requires,
  inputSchema: { type: 'object' },
  grant: compileGrant(requirementSet.parse(requires), { workspace: [workspace] }),
})
