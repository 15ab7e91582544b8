/** Which of the layers stand. Nothing in production can say so: the image of the worker is another one, made by the corpus. */
export interface Layers {
  readonly lockdown: boolean
  readonly native: boolean
  readonly gate: boolean
}

export const ALL_LAYERS: Layers = { lockdown: true, native: true, gate: true }
