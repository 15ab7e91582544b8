import type { Diagnostic, MissingWall } from '@bulkhead/contract'

/** A wall that is missing lies in no file: what decides about it is one setting. */
export const wallDiagnostic = ({ message, cure }: MissingWall): Diagnostic => ({
  severity: 'warning', stage: 'configSchema', code: 'CapabilityUnavailable', layer: 'bundled', extensionId: null,
  location: 'the operating system', path: '/sandbox/os', message, cure,
})
