import{c as m}from"./part-QBT65VXA.js";var i=({user:e,service_account:t})=>e?m(e)||e.email:t?.name??"";export{i as a};
