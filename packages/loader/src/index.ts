export { createLoader } from './loader.ts'
export { LOADER_LIMITS, type LoaderLimits } from './limits.ts'
export { PROJECT_FOLDER, type BundledExtension, type LoaderOptions } from './options.ts'
export { INTEGRITY_FILE } from './files/integrity-file.ts'
