import { z } from 'zod'
import { packageVersion } from './manifest.ts'
import { ENV_NAME_PATTERN, EXTENSION_ID_PATTERN, TOOL_NAME_PATTERN } from '../model/names.ts'
import { requirementSet } from '../policy/requirements.ts'
import { secretManifest } from './secrets.ts'

/** In the folder of a layer: what of it a person has accepted. */
export const LOCK_FILE = 'bulkhead.lock'
export const LOCK_VERSION = 1

const digest = z.string().regex(/^[0-9a-f]{128}$/, 'a sha512 in lower-case hex')
const words = z.string().max(1024)

const signer = z.strictObject({
  issuer: words.describe('Who vouches for the rest.'),
  subject: words.describe('A workflow at a ref, or the address of a person.'),
  repository: words.nullable().describe('The repository that was built, or null for a person.'),
  workflow: words.nullable().describe('The subject without its ref.'),
  ref: words.nullable().describe('The branch or tag that was built.'),
})

const capabilities = z.strictObject({
  env: z.array(z.string().regex(ENV_NAME_PATTERN, 'the name of an environment variable')).max(64).describe('Variables it may read.'),
  secrets: z.array(secretManifest).max(16).describe('Secrets it may use without seeing them.'),
  state: z.literal(true).optional().describe('Whether it keeps state. Absent in what was accepted before this was written down.'),
  tools: z.record(z.string().regex(TOOL_NAME_PATTERN, 'the name of a tool'), requirementSet).describe('What each tool needs of the world.'),
}).describe('What it may do, in full: the digest beside it is taken over this.')

const lockEntry = z.strictObject({
  version: packageVersion.describe('The version that was accepted.'),
  root: digest.describe('Over every file of the package.'),
  source: z.string().max(512).regex(/^(?:npm:.+@.+|tarball:.+|folder:.+|in-place)$/s, 'npm:NAME@VERSION, tarball:FILE, folder:NAME or in-place')
    .describe('Where it was taken from.'),
  signer: signer.nullable().describe('Who signed it, or null where nobody did.'),
  signedBy: z.enum(['bundle', 'npm']).nullable().describe('A bundle inside the package, or what the registry attests of its tarball.'),
  capability: digest.describe('Over what it may do.'),
  capabilities,
  tools: z.record(z.string().regex(TOOL_NAME_PATTERN, 'the name of a tool'), digest).describe('Over the definition of each tool.'),
  accepted: z.strictObject({
    at: z.iso.datetime().describe('When.'),
    by: z.string().min(1).max(256).describe('By whom.'),
  }).describe('The decision.'),
})

export const lockFileSchema = z.strictObject({
  lockVersion: z.literal(LOCK_VERSION).describe('The form of this file.'),
  extensions: z.record(z.string().regex(EXTENSION_ID_PATTERN, 'an extension id'), lockEntry).describe('What was accepted, by id.'),
})

/** What a person accepted of one extension. */
export type LockEntry = z.output<typeof lockEntry>
export type LockFile = z.output<typeof lockFileSchema>
/** What an extension may do, as far as a person has to agree to it. */
export type AcceptedCapabilities = z.output<typeof capabilities>
