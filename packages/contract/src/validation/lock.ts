import { z } from 'zod'
import { LOCK_VERSION, TOOL_NAME_PATTERN } from '../model/names.ts'
import { envName, extensionId, packageVersion } from './fields.ts'
import { requirementSet, secretManifest } from './requirements.ts'

const digest = z.string().regex(/^[0-9a-f]{128}$/, 'a sha512 in lower-case hex')
const words = z.string().max(1024)
const toolKey = z.string().regex(TOOL_NAME_PATTERN, 'the name of a tool')

const signer = z.strictObject({
  issuer: words.describe('The issuer of the certificate.'),
  subject: words.describe('A workflow at a ref, or the address of a person.'),
  repository: words.nullable().describe('The repository that was built, or null for a person.'),
  workflow: words.nullable().describe('The subject without its ref.'),
  ref: words.nullable().describe('The branch or tag that was built.'),
})

const capabilities = z.strictObject({
  env: z.array(envName).max(64).describe('Variables it may read.'),
  secrets: z.array(secretManifest).max(16).describe('Secrets it may use without seeing them.'),
  state: z.literal(true).optional().describe('Whether it keeps state. Absent in files that older versions wrote.'),
  tools: z.record(toolKey, requirementSet).describe('The requirements of each tool.'),
}).describe('Everything the extension may do. The field capability is the digest of this object.')

const lockEntry = z.strictObject({
  version: packageVersion.describe('The accepted version.'),
  root: digest.describe('Digest of all files of the package.'),
  source: z.string().max(512).regex(
    /^(?:npm:.+@.+|tarball:.+|folder:.+|in-place)$/s, 'npm:NAME@VERSION, tarball:FILE, folder:NAME or in-place',
  )
    .describe('Where the package came from.'),
  signer: signer.nullable().describe('Who signed it, or null for an unsigned package.'),
  signedBy: z.enum(['bundle', 'npm']).nullable()
    .describe('Whether a bundle inside the package or the registry attests the signature.'),
  capability: digest.describe('Digest of what it may do.'),
  capabilities,
  tools: z.record(toolKey, digest).describe('Digest of the definition of each tool.'),
  accepted: z.strictObject({
    at: z.iso.datetime().describe('When.'),
    by: z.string().min(1).max(256).describe('By whom.'),
  }).describe('The decision.'),
})

export const lockFileSchema = z.strictObject({
  lockVersion: z.literal(LOCK_VERSION).describe('The version of this file format.'),
  extensions: z.record(extensionId, lockEntry).describe('The accepted extensions, by id.'),
})

/** One extension that a person accepted. */
export type LockEntry = z.output<typeof lockEntry>
/** The powers that a person accepted. */
export type AcceptedCapabilities = z.output<typeof capabilities>
