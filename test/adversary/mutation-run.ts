export async function applyMutations(_from: number, _only: string[] | undefined): Promise<number> {
  throw new Error('later')
}
