import { contractCompatible, CONTRACT_VERSION } from '@bulkhead/contract'
import type { Shaped } from '../describe/extension.ts'
import { pass, refuse, type StageResult } from '../model/result.ts'

/** The host speaks the contract the manifest is written for. */
export function contractVersion(shaped: Shaped): StageResult<Shaped> {
  const wanted = shaped.manifest.contractVersion
  if (contractCompatible(wanted)) return pass(shaped)
  return refuse({
    stage: 'contractVersion', code: 'ContractVersionMismatch', path: '/contractVersion',
    message: `The manifest is written for contract ${wanted}; this host speaks ${CONTRACT_VERSION}.`,
  })
}
