import { join, resolve } from 'node:path'
import { visibleText } from '@bulkhead/kit/text'
import {
  INTEGRITY_FILE, SIGNATURE_FILE, signPackage, signTarball, type Packed, type SignedPackage,
} from '@bulkhead/loader'
import { homeFolder } from '../../facade/folders.ts'
import { loaderOptions } from '../../facade/loader-options.ts'
import { defineCommand, UsageError } from '../command.ts'
import { readSigning } from './conformance-attest.ts'
import { isTarball, readExtensionFolder } from '../extension-source.ts'
import { HOME_OPTIONS, refuseRoot, SOURCE_OPTIONS, type SourceValues } from '../host-options.ts'
import { hint, printJson } from '../output.ts'
import { extensionJson, extensionLines, line, sourceLines, sourcesJson } from '../review.ts'
import { replaceFile, writing } from '../write-file.ts'

export const sign = defineCommand({
  usage: 'DIR|TGZ',
  operands: { 'DIR|TGZ': { text: 'folder of an extension, or a tarball of "pack"', completes: 'file' } },
  options: { ...SOURCE_OPTIONS, ...HOME_OPTIONS },
  details: `Signs ${INTEGRITY_FILE}, which covers all files, with sigstore: the certificate names the CI job or
the person, and a public log has the signature. Needs an identity: GitHub Actions with the permission "id-token: write",
or the variable SIGSTORE_ID_TOKEN. There is no option for a key, because a key alone does not identify the signer, and
hosts refuse it. A tarball is replaced. In a folder, ${SIGNATURE_FILE} is written for the next "pack" or "publish".`,
  exits: ['if it was signed', 'if it was not'],
  examples: [
    { command: 'bulkhead sign word-count-0.1.0.tgz', text: 'a tarball, in CI' },
    { command: 'bulkhead sign ./word-count', text: 'a folder, before "bulkhead publish ./word-count"' },
  ],

  async run({ values, positionals: [target, ...more] }) {
    if (target === undefined || more.length > 0) throw new UsageError('Name one folder or tarball after "sign".')
    const options = { signing: readSigning(undefined, values.home), loader: loaderOptions(homeFolder(values.home)) }
    if (isTarball(target)) refuseRoot(values)
    const { extension, file, packed } = isTarball(target) ? await signFile(resolve(target), options)
      : await signFolder(target, values, options)
    if (values.json) printJson({ signed: true, file, ...sourcesJson(packed), ...extensionJson(extension) })
    else {
      process.stdout.write([
        ...sourceLines(packed), ...extensionLines(extension), line('written', file), '',
      ].join('\n'))
      const next = `Now run bulkhead pack or bulkhead publish on ${visibleText(target)}.\n`
      if (!isTarball(target)) process.stdout.write(hint(next))
    }
    return 0
  },
})

type Options = Parameters<typeof signTarball>[1]

interface Signed extends Pick<SignedPackage, 'extension'> {
  readonly file: string
  /** Of a folder. */
  readonly packed?: Packed
}

async function signFile(file: string, options: Options): Promise<Signed> {
  const { extension, tarball } = await signTarball(file, options)
  writing(file, () => replaceFile(file, tarball))
  return { extension, file }
}

/** The integrity file belongs to the signature. */
async function signFolder(given: string, values: SourceValues, options: Options): Promise<Signed> {
  const packed = await readExtensionFolder(given, values, undefined, { unsigned: true })
  const { folder, files, integrityFile } = packed
  const { extension, signature } = await signPackage(files, folder, options)
  const file = join(folder, SIGNATURE_FILE)
  writing(folder, () => {
    replaceFile(join(folder, INTEGRITY_FILE), integrityFile)
    replaceFile(file, signature)
  })
  return { extension, file, packed }
}
