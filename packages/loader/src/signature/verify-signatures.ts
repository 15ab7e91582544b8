// Verifies signatures, in a thread of a pool.
import { proveConformance } from './conformance.ts'
import { proveNpm } from './npm-attestations.ts'
import { provePackage } from './package-signatures.ts'
import type { SignatureQuestion } from './signature-pool.ts'
import * as sigstore from './sigstore.ts'
import type { Verification } from './verification.ts'

const PROVERS = { package: provePackage, npm: proveNpm, conformance: proveConformance } as const

export const run = ({ kind, request }: SignatureQuestion): Verification<unknown> =>
  PROVERS[kind](request as never, sigstore)
