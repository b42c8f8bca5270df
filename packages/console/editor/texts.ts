export const texts = {
  suggestions: 'Suggestions',
  removed: 'Removed',
  added: 'Added',
  same: (count: number) => `${count} unchanged ${count === 1 ? 'line' : 'lines'}`,
  noDifference: 'There is no difference.',
}
