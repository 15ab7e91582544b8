/** The active layers. Only the corpus can turn them off, by building another image of the worker. */
export interface Layers {
  readonly lockdown: boolean
  readonly native: boolean
  readonly gate: boolean
}

export const ALL_LAYERS: Layers = { lockdown: true, native: true, gate: true }
