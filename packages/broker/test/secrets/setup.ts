import type { CompartmentTool, RequirementSet, SecretGrant } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { compileGrant } from '@bulkhead/contract'
import type { BulkheadError } from '@bulkhead/contract'
import type { OpenCall } from '../../src/model/capability.ts'
import type { SecretsCapability } from '../../src/secrets/secrets.ts'
import { secretsCapability } from '../../src/secrets/secrets.ts'

export const SECRET = 'canary-9f8e7d6c5b4a'

export const vaultOf = (secrets: Readonly<Record<string, Partial<SecretGrant>>>): SecretsCapability =>
  secretsCapability(new Map(Object.entries(secrets).map(([name, secret]) =>
    [name, { value: SECRET, hosts: [], commands: [], ...secret }])))

let calls = 0

export function callOf(requires: RequirementSet, more: Partial<OpenCall> = {}): OpenCall {
  const grant = compileGrant(requires, { workspace: ['/'] })
  const tool: CompartmentTool = { name: 'run', requires: {}, inputSchema: {}, grant }
  return { callId: `call-${++calls}`, tool, signal: new AbortController().signal, ...more }
}

export const handleOf = async (vault: SecretsCapability, call: OpenCall, name: Json = 'TOKEN'): Promise<string> =>
  await vault.capabilities['secrets.handle']!(call, [name]) as string

export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then((value) => `not refused: ${JSON.stringify(value)}`, (error: BulkheadError) => error.code)
