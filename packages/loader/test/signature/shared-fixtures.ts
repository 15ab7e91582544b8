import { existsSync } from 'node:fs'

/** Public test data next to the repository, if the machine has it. It is not part of the repository. */
const SHARED_FIXTURES = new URL('../../../../../shared/fixtures/', import.meta.url)
export const CORPUS = new URL('sigstore-bundles/', SHARED_FIXTURES)
export const NPM_ATTESTATIONS = new URL('npm-attestations/playwright-cli-0.1.1.json', SHARED_FIXTURES)

export const isHere = (url: URL): boolean => existsSync(url)
