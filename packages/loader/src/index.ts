export { createLoader } from './loader.ts'
export { LOADER_LIMITS, type LoaderLimits } from './limits.ts'
export { PROJECT_FOLDER, type BundledExtension, type LoaderOptions } from './options.ts'
export { INTEGRITY_FILE } from './files/integrity-file.ts'
export { SIGNATURE_FILE } from './files/signature-file.ts'
export {
  verifyNpmAttestations, type NpmAttestationRequest, type NpmAttestations, type NpmVerification,
} from './signature/npm-attestations.ts'
export { NPM_KEYS } from './signature/public-good/npm-keys.ts'
export { PUBLIC_GOOD_ROOT } from './signature/public-good/trusted-root.ts'
export { ageInDays, type TrustMaterial } from './signature/trust-material.ts'
export type { VerificationStep } from './signature/verification.ts'
