import type { Diagnostic, Manifest, ToolManifest } from '@bulkhead/contract'
import type { Located } from '../discover/extension-folders.ts'
import { diagnose } from '../model/diagnostics.ts'
import { packageDigest } from '../model/digest.ts'
import type { FolderProof, Proof, Proven } from '../prove/pipeline.ts'
import { projectDigest, type ProjectPart } from '../trust/project-digest.ts'

/** What has become of everything that was found, while it is being gone through. */
export class Tally {
  readonly proven: Proven[] = []
  readonly diagnostics: Diagnostic[] = []
  /** The tools that ship with the host by name, also those of an extension that is switched off: their names stay locked. */
  readonly bundledTools = new Map<string, ToolManifest>()

  /** Why extensions that were found are not among the proven, by id. */
  readonly absent = new Map<string, string>()
  /** The tools of these, as far as they are known. */
  readonly absentTools = new Map<string, readonly string[]>()
  readonly #projectParts: ProjectPart[] = []

  /** What of the project has been seen so far. */
  get projectDigest(): string {
    return projectDigest(this.#projectParts)
  }

  addProjectPart(name: string, digest: string | null): void {
    this.addProjectParts([{ name, digest }])
  }

  addProjectParts(parts: readonly ProjectPart[]): void {
    this.#projectParts.push(...parts)
  }

  addFolder(located: Located, { proof, digests }: FolderProof): void {
    if (located.layer === 'project') this.addProjectPart(located.part, digests === null ? null : packageDigest(digests()))
    this.add(located, proof)
  }

  add({ layer, location }: Located, proof: Proof): void {
    const subject = (extensionId: string | null) => ({ layer, location, extensionId })
    if (proof.kind === 'refused') {
      this.diagnostics.push(...proof.faults.map((fault) => diagnose(subject(proof.id), fault)))
      const [first] = proof.faults
      if (proof.id !== null && first !== undefined) {
        this.absent.set(proof.id, `was refused (${first.code})`)
        this.absentTools.set(proof.id, [])
      }
      return
    }
    if (layer === 'bundled') for (const tool of manifestOf(proof).tools) this.bundledTools.set(tool.name, tool)
    if (proof.kind === 'disabled') {
      this.absent.set(proof.id, 'is disabled by the configuration')
      this.absentTools.set(proof.id, manifestOf(proof).tools.map(({ name }) => name))
      return
    }
    this.proven.push(proof)
    this.diagnostics.push(...proof.warnings.map((fault) => diagnose(subject(proof.outline.id), fault, 'warning')))
  }
}

const manifestOf = (proof: Exclude<Proof, { kind: 'refused' }>): Manifest =>
  proof.kind === 'proven' ? proof.descriptor.manifest : proof.told.manifest()
