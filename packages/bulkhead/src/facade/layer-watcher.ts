import type { Loader, ProjectStanding } from '@bulkhead/contract'

/** Watches the project layer as far as the decision about it allows, and looks further when a later decision allows more. */
export class LayerWatcher {
  readonly #loader: Pick<Loader, 'watch'>
  readonly #workspace: string
  /** The last decision that allowed to look into the layer. */
  #standing: ProjectStanding | undefined
  #onChange: (() => void) | undefined
  #stop: (() => void) | undefined

  constructor(loader: Pick<Loader, 'watch'>, workspace: string) {
    this.#loader = loader
    this.#workspace = workspace
  }

  start(onChange: () => void): () => void {
    this.#onChange = onChange
    this.#begin()
    return () => {
      this.#onChange = undefined
      this.#stop?.()
    }
  }

  /** A layer that was agreed to and has changed stays watched, so that its return to that content is noticed. */
  follow(standing: ProjectStanding): void {
    if (standing.trust === 'declined' || standing.projectDigest === this.#standing?.projectDigest) return
    this.#standing = standing
    if (this.#onChange) this.#begin()
  }

  #begin(): void {
    this.#stop?.()
    const standing = this.#standing ?? { trust: 'declined', projectDigest: 'any' }
    this.#stop = this.#onChange && this.#loader.watch({ workspace: this.#workspace, ...standing }, this.#onChange)
  }
}
