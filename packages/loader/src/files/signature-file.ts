/** A sigstore bundle over the integrity file beside it; like that one no part of what is hashed, nor of what the code can see. */
export const SIGNATURE_FILE = 'bulkhead.sigstore.json'
