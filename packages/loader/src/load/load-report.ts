import type { Diagnostic, Manifest, ToolManifest } from '@bulkhead/contract'
import type { Located } from '../discover/extension-folders.ts'
import { diagnose } from '../model/diagnostics.ts'
import { packageDigest } from '../model/digest.ts'
import type { FolderProof, Proof, Proven } from '../prove/pipeline.ts'
import { projectDigest, type ProjectPart } from '../trust/project-layer.ts'

/** Collects the results of a load. */
export class LoadReportBuilder {
  readonly proven: Proven[] = []
  readonly diagnostics: Diagnostic[] = []
  /** Bundled tools by name, including those of disabled extensions: their names stay locked. */
  readonly bundledTools = new Map<string, ToolManifest>()
  /** Why an extension that was found is not proven, by id. Continues a sentence. */
  readonly absent = new Map<string, string>()
  /** The known tools of these extensions. */
  readonly absentTools = new Map<string, readonly string[]>()
  readonly #projectParts: ProjectPart[] = []

  /** The digest of the parts of the project that were read. */
  get projectDigest(): string {
    return projectDigest(this.#projectParts)
  }

  addProjectParts(...parts: readonly ProjectPart[]): void {
    this.#projectParts.push(...parts)
  }

  addFolder(located: Located, { proof, digests }: FolderProof): void {
    if (located.layer === 'project') this.addProjectParts({ name: located.part, digest: digests === null ? null : packageDigest(digests()) })
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
  proof.kind === 'proven' ? proof.descriptor.manifest : proof.info.manifest()
