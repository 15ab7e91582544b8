import { join } from 'node:path'
import type { ErrorCode, ValidationStage } from '@bulkhead/contract'
import { expect } from 'vitest'
import { HomeFixture } from './home-fixture.ts'

/** A manifest and its expected diagnostic. */
export interface MalformedManifest {
  readonly name: string
  readonly manifest: string | Uint8Array | object
  readonly stage: ValidationStage
  readonly code: ErrorCode
  readonly path: string
  readonly message: RegExp
}

export async function expectRefusal({ manifest, stage, code, path, message }: MalformedManifest): Promise<void> {
  using home = new HomeFixture()
  const location = home.extension(home.globalRoot, 'weather', manifest)
  const { extensions, diagnostics } = await home.load()
  expect(extensions).toEqual([])
  const place = { layer: 'global', location: join(location, 'bulkhead.json'), path }
  expect(diagnostics[0]).toMatchObject({ severity: 'error', stage, code, ...place })
  expect(diagnostics[0]!.message).toMatch(message)
  expect(diagnostics[0]!.cure).not.toBe('')
  expect(new Set(diagnostics.map((diagnostic) => diagnostic.stage))).toEqual(new Set([stage]))
}
