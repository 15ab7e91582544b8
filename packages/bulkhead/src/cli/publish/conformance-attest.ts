import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Report } from '@bulkhead/conformance'
import { messageOf } from '@bulkhead/kit/error-message'
import { conformanceStatement, PUBLIC_GOOD_ROOT, requireIdentity, sign, type Signing } from '@bulkhead/loader'
import { homeFolder } from '../../facade/folders.ts'
import { loaderOptions } from '../../facade/loader-options.ts'
import { UsageError } from '../command.ts'
import { replaceFile, writing } from '../write-file.ts'

/** A private key, or the identity of the CI job. Throws if there is neither, before the suite runs. */
export function readSigning(key: string | undefined, home: string | undefined): Signing {
  if (key === undefined) {
    requireIdentity()
    return { trustRoot: loaderOptions(homeFolder(home)).trustRoot ?? PUBLIC_GOOD_ROOT.json }
  }
  try {
    return { key: readFileSync(key, 'utf8') }
  } catch (error) {
    throw new UsageError(`--key: "${key}" cannot be read: ${messageOf(error)}.`)
  }
}

/** Signs the results. Writes them beside a tarball, where `install` finds them; otherwise into the current folder. */
export async function attest(report: Report, target: string, signing: Signing): Promise<string> {
  const { id, version } = report.extension
  const archive = /\.(?:tgz|tar\.gz)$/
  const name = archive.test(target) ? target.replace(archive, '') : `${id}-${version}`
  const file = resolve(`${name}.conformance.json`)
  const bundle = await sign({ statement: conformanceStatement(report) }, signing)
  writing(file, () => replaceFile(file, `${JSON.stringify(bundle)}\n`))
  return file
}
